"""What a table is."""


class Table:
    """A measurement under a name. Subclasses set the texts and do the three things.

    Pure but for measure(): the text and the plots are made from the recorded result alone, so they
    can be made again."""

    name = ""
    title = ""
    conditions = ""  # printed above the table

    def minutes(self, runs):
        """A guess of how long it takes."""
        raise NotImplementedError

    def measure(self, session):
        raise NotImplementedError

    def markdown(self, result):
        raise NotImplementedError

    def plots(self, result):
        """{part of the file's name: SVG text}"""
        return {}


PAYLOAD_SHARE = 1456 / 1500  # of UDT's payload in a packet of 1500 bytes


def ideal_seconds(size, rate):
    """What `size` bytes take at the line's payload rate; rate in bits/s of IP packets."""
    return size * 8 / (rate * PAYLOAD_SHARE)


def goodput(record):
    """Gbit/s."""
    return record["bytes"] * 8 / record["seconds"] / 1e9


def cpu_per_gb(record):
    """Processor seconds of both ends per 10^9 bytes."""
    return (record["sender_cpu_s"] + record["receiver_cpu_s"]) / (record["bytes"] / 1e9)


def counter(summary, *names):
    """The first of these fields that an xfer summary has, or None: counters are added as xfer grows."""
    return next((summary[n] for n in names if n in (summary or {})), None)


def bare_window(path):
    """What the bare ceiling may have in flight in a lab: it sends that much at once, so a little less
    than the queue of one bandwidth-delay product takes."""
    return int(0.9 * path.bdp)
