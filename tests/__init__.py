"""The tests, by cost: unit, integration, acceptance, reliability, benchmarks."""
