"""The work of a postrun report as an analyst does it by hand, to be measured beside postrun.

    peers.py json FILE                     json.load and numpy over a detailed `vllm bench serve` result
    peers.py orjson FILE                   the same, parsed by orjson
    peers.py aiperf FILE                   the same of AIPerf's profile_export.jsonl
    peers.py perf_analyzer FILE            the same of perf_analyzer's profile export, every event parsed
    peers.py duckdb-prepare DIR PARQUET    a table of gaps with their prompt-length bucket from a postrun dataset
    peers.py duckdb PARQUET                exact P50/P95/P99 of these gaps, overall and by bucket

Prints one line of JSON: {"peer", "versions", "figures": {name: number or null}}. A name is `itl_ms/p50` for the whole
run and `bucket 64/itl_ms/p50` for requests of 64 prompt tokens up to the next edge. Times are in ms; percentiles
interpolate linearly; standard deviations are of the population. Exit code 77: a package is not installed.
"""

import argparse
import json
import platform
import sys
from itertools import chain

PERCENTILES = (50, 90, 95, 99)
QUANTILES = (50, 95, 99)
NOT_INSTALLED = 77
# Where the clocks of the generated files begin.
UNIX_NS = 1_700_000_000_000_000_000


def needed(name):
    """The package, or the exit code that says it is not there."""
    try:
        return __import__(name)
    except ImportError:
        print(f"{name} is not installed", file=sys.stderr)
        sys.exit(NOT_INSTALLED)


def version(module):
    return f"{module.__name__} {module.__version__}"


def answer(peer, modules, figures):
    versions = ", ".join([f"Python {platform.python_version()}", *map(version, modules)])
    print(json.dumps({"peer": peer, "versions": versions, "figures": figures}))


def distribution(np, name, ms):
    """Count, mean, spread and percentiles of one metric."""
    if len(ms) == 0:
        return {f"{name}/count": 0}
    figures = {f"{name}/count": len(ms), f"{name}/mean": float(ms.mean()), f"{name}/std": float(ms.std())}
    for p, value in zip(PERCENTILES, np.percentile(ms, PERCENTILES)):
        figures[f"{name}/p{p}"] = float(value)
    return figures


def from_result(peer, args):
    """The report of one result file; failed requests do not count."""
    np = needed("numpy")
    parser = needed("orjson") if peer == "orjson" else json
    if peer == "orjson":
        with open(args.path, "rb") as file:
            run = parser.loads(file.read())
    else:
        with open(args.path, encoding="utf-8") as file:
            run = parser.load(file)

    ok = np.array([error == "" for error in run["errors"]], dtype=bool)
    ttft, latency, start = (np.array(run[key], dtype=float)[ok] for key in ("ttfts", "latencies", "start_times"))
    prompt, output = (np.array(run[key], dtype=np.int64)[ok] for key in ("input_lens", "output_lens"))
    gaps = [list_ for list_, good in zip(run["itls"], ok) if good]
    figures = figures_of(np, args, (start, ttft, latency, prompt, output), gaps)
    answer(peer, [np] if parser is json else [np, parser], figures)


def from_records(peer, args):
    """AIPerf: a request a line; failed ones hold no times."""
    np = needed("numpy")
    rows, gaps = [], []
    with open(args.path, encoding="utf-8") as file:
        for record in map(json.loads, file):
            if "error" in record:
                continue
            metrics = record["metrics"]
            ttft, latency = (metrics[key]["value"] / 1e3 for key in ("time_to_first_token", "request_latency"))
            prompt, output = (metrics[key]["value"] for key in ("usage_prompt_tokens", "usage_completion_tokens"))
            # A float of Unix seconds would lose the nanoseconds.
            start = (record["metadata"]["request_start_ns"] - UNIX_NS) / 1e9
            rows.append((start, ttft, latency, prompt, output))
            gaps.append([gap / 1e3 for gap in metrics["inter_chunk_latency"]["value"]])
    answer(peer, [np], figures_of(np, args, columns(np, rows), gaps))


def from_export(peer, args):
    """perf_analyzer: every read is an event; those with content are tokens, one has the usage."""
    np = needed("numpy")
    with open(args.path, encoding="utf-8") as file:
        requests = json.load(file)["experiments"][0]["requests"]
    rows, gaps = [], []
    for request in requests:
        sent, times, usage = request["timestamp"], [], None
        for at, read in zip(request["response_timestamps"], request["response_outputs"]):
            text = read["response"].removeprefix("data: ").strip()
            if text == "[DONE]":
                continue
            event = json.loads(text)
            usage = event.get("usage", usage)
            if any(choice["delta"].get("content") for choice in event["choices"]):
                times.append(at - sent)
        if times:
            start, tokens = (sent - UNIX_NS) / 1e9, (usage["prompt_tokens"], usage["completion_tokens"])
            rows.append((start, times[0] / 1e9, times[-1] / 1e9, *tokens))
            gaps.append([(b - a) / 1e9 for a, b in zip(times, times[1:])])
    answer(peer, [np], figures_of(np, args, columns(np, rows), gaps))


def columns(np, rows):
    start, ttft, latency, prompt, output = zip(*rows)
    times = (np.array(values, dtype=float) for values in (start, ttft, latency))
    return (*times, *(np.array(values, dtype=np.int64) for values in (prompt, output)))


def figures_of(np, args, requests, gaps):
    """All figures of the answered requests; times in seconds."""
    start, ttft, latency, prompt, output = requests
    counts = np.fromiter(map(len, gaps), dtype=np.int64, count=len(gaps))

    # Gaps are made an array bucket by bucket: the whole run is then one concatenation.
    bucket_of = np.searchsorted(args.edges, prompt, side="right") - 1
    figures = {}
    parts = []
    for bucket, edge in enumerate(args.edges):
        members = np.flatnonzero(bucket_of == bucket)
        of_bucket = chain.from_iterable(gaps[i] for i in members)
        itl = np.fromiter(of_bucket, dtype=float, count=int(counts[members].sum())) * 1e3
        parts.append(itl)
        figures |= distribution(np, f"bucket {edge}/ttft_ms", ttft[members] * 1e3)
        figures |= distribution(np, f"bucket {edge}/itl_ms", itl)

    several = output > 1
    tpot = (latency - ttft)[several] / (output[several] - 1)
    figures |= distribution(np, "ttft_ms", ttft * 1e3)
    figures |= distribution(np, "tpot_ms", tpot * 1e3)
    figures |= distribution(np, "itl_ms", np.concatenate(parts))
    figures |= distribution(np, "e2e_ms", latency * 1e3)
    duration = float((start + latency).max() - start.min())
    return figures | {"requests_per_s": len(ttft) / duration, "output_tokens_per_s": int(output.sum()) / duration}


def connect(args):
    duckdb = needed("duckdb")
    connection = duckdb.connect()
    if args.threads:
        connection.execute(f"SET threads = {args.threads}")
    return duckdb, connection


def quoted(path):
    return "'" + path.replace("'", "''") + "'"


def prepare(_, args):
    """What the timed query starts from: `gap_ns` and the lower edge of the request's prompt-length bucket."""
    duckdb, connection = connect(args)
    connection.execute(f"SET temp_directory = {quoted(args.out + '.spill')}")
    buckets = " ".join(f"WHEN prompt_tokens >= {edge} THEN {edge}" for edge in reversed(args.edges))
    connection.execute(f"""
        COPY (
            SELECT gap_ns, CAST(CASE {buckets} END AS UINTEGER) AS bucket
            FROM (
                SELECT request, at_ns - lag(at_ns) OVER (PARTITION BY request ORDER BY "index") AS gap_ns
                FROM read_parquet({quoted(args.path + "/chunks.parquet")})
            )
            JOIN read_parquet({quoted(args.path + "/requests.parquet")}) USING (request)
            WHERE status = 'ok' AND gap_ns IS NOT NULL
        ) TO {quoted(args.out)} (FORMAT parquet)
    """)
    count = connection.execute(f"SELECT count(*) FROM read_parquet({quoted(args.out)})").fetchone()[0]
    answer("duckdb-prepare", [duckdb], {"itl_ms/count": count})


def from_gaps(_, args):
    """One scan for both: on this table faster than a query each."""
    duckdb, connection = connect(args)
    rows = connection.execute(f"""
        SELECT bucket, count(*), quantile_cont(gap_ns, {[q / 100 for q in QUANTILES]})
        FROM read_parquet({quoted(args.path)}) GROUP BY GROUPING SETS ((), (bucket))
    """).fetchall()
    figures = {}
    for bucket, count, values in rows:
        name = "itl_ms" if bucket is None else f"bucket {bucket}/itl_ms"
        figures[f"{name}/count"] = count
        figures |= {f"{name}/p{q}": value / 1e6 for q, value in zip(QUANTILES, values or [])}
    answer("duckdb", [duckdb], figures)


def arguments():
    def edges(text):
        return [int(edge) for edge in text.split(",")]

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="peer", required=True)
    work = {"json": from_result, "orjson": from_result, "aiperf": from_records, "perf_analyzer": from_export}
    work |= {"duckdb-prepare": prepare, "duckdb": from_gaps}
    for name, run in work.items():
        command = commands.add_parser(name)
        command.set_defaults(run=run)
        command.add_argument("path")
        if name == "duckdb-prepare":
            command.add_argument("out")
        if name != "duckdb":
            text = "lower edges of the prompt-length buckets, rising from 0; the last bucket is open"
            command.add_argument("--edges", type=edges, default=[0, 64, 128, 256, 512, 1024, 2048, 4096], help=text)
        if name.startswith("duckdb"):
            command.add_argument("--threads", type=int, help="threads DuckDB may use (default: all)")
    return parser.parse_args()


if __name__ == "__main__":
    parsed = arguments()
    parsed.run(parsed.peer, parsed)
