"""Markdown tables. Pure."""


def markdown(header, rows):
    """A table whose first column is left-aligned and the others right-aligned, padded so that it
    reads well as plain text too. Cells may be anything that str() takes."""
    cells = [[str(c).replace("|", "\\|") for c in row] for row in [header, *rows]]
    if any(len(row) != len(header) for row in cells):
        raise ValueError("a row has another number of cells than the header")
    widths = [max(3, *(len(row[i]) for row in cells)) for i in range(len(header))]

    def line(row):
        padded = [c.ljust(w) if i == 0 else c.rjust(w) for i, (c, w) in enumerate(zip(row, widths))]
        return "| " + " | ".join(padded) + " |"

    rule = ["-" * w if i == 0 else "-" * (w - 1) + ":" for i, w in enumerate(widths)]
    return "\n".join([line(cells[0]), line(rule), *map(line, cells[1:])])
