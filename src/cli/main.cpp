#include "cli/commands.hpp"

int main(int argc, char** argv) { return xfer::cli::run({argv + (argc > 0 ? 1 : 0), argv + argc}); }
