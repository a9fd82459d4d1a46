"""Validates Benchmark Reports by the published package `llmd-benchmark-report`. usage: check_benchmark_report.py FILE..."""

import sys

from llmd_benchmark_report.core import import_benchmark_report

for path in sys.argv[1:]:
    report = import_benchmark_report(path)
    print(type(report).__name__, report.version, report.results.request_performance.aggregate.requests.total)
