"""What the benchmark tables share: processes, paths, contestants, statistics, output."""
