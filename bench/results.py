"""The results file: one record for each kernel, runtime, compiler, number of workers and size."""
import json
import os
import re
import statistics

KEY = ("kernel", "runtime", "compiler", "workers", "size")


def machine():
    """CPU model and number of usable cores, as the kernel reports them; never a host name."""
    model = "unknown CPU"
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            found = re.search(r"^(?:model name|cpu model|Hardware)\s*:\s*(.+)$", lines.read(), re.M)
        model = found.group(1) if found else os.uname().machine
    except OSError:
        pass
    model = " ".join(re.sub(r"\((R|TM|tm|r)\)", "", model).split())
    return {"cpu": model, "cores": len(os.sched_getaffinity(0)), "kernel": os.uname().release.split("-")[0]}


def file_name(of_machine):
    words = re.sub(r"[^a-z0-9]+", "-", of_machine["cpu"].lower()).strip("-")
    return f"{words}-{of_machine['cores']}-cores.json"


def key(record):
    return tuple(record[name] for name in KEY)


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def save(path, of_machine, records):
    """Writes the records; those of earlier runs stay unless they have the same key."""
    kept = {}
    if os.path.exists(path):
        kept = {key(record): record for record in load(path)["records"]}
    kept.update({key(record): record for record in records})
    ordered = sorted(kept.values(), key=lambda r: (r["size"], r["kernel"], r["workers"], r["compiler"], r["runtime"]))
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        # One record per line, so that two runs can be compared with diff.
        lines = ",\n  ".join(json.dumps(record) for record in ordered)
        file.write(f'{{"machine": {json.dumps(of_machine)},\n "records": [\n  {lines}\n]}}\n')


def median(record):
    return statistics.median(record["seconds"]) if record.get("seconds") else None


def pick(records, **wanted):
    """The first good record with these values, or None."""
    for record in records:
        if record.get("seconds") and all(record[name] == value for name, value in wanted.items()):
            return record
    return None


def ratio(record, base):
    if record is None or base is None:
        return None
    low = median(base)
    return median(record) / low if low else None


def twin(records, record, runtime, **wanted):
    """A measurement with the same key on another runtime: by the same compiler, else by any."""
    wanted = {"kernel": record["kernel"], "size": record["size"], "runtime": runtime, **wanted}
    return pick(records, compiler=record["compiler"], **wanted) or pick(records, **wanted)


def show(value, digits=2, suffix=""):
    return "" if value is None else f"{value:.{digits}f}{suffix}"


def table(records):
    """A Markdown table for each kernel and size."""
    parts = []
    for size, kernel in sorted({(r["size"], r["kernel"]) for r in records}):
        rows = [r for r in records if r["kernel"] == kernel and r["size"] == size]
        parts.append(f"\n### {kernel}, {size}\n")
        shares = any("smallest_share" in r for r in rows)
        parts.append("| runtime | compiler | workers | median s | min s | / serial | / pilfer_join | speed-up | peak MiB |"
                     + (" smallest share | largest share |" if shares else ""))
        parts.append("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |" + (" ---: | ---: |" if shares else ""))
        for r in sorted(rows, key=lambda r: (r["workers"], r["compiler"], median(r) or 1e9)):
            parts.append(row(records, r) + (share_cells(r) if shares else ""))
    return "\n".join(parts)


def share_cells(r):
    """Medians of the fewest and the most items of a worker, as parts of its fair share."""
    cells = [statistics.median(r[name]) if r.get(name) else None for name in ("smallest_share", "largest_share")]
    return "".join(f" {show(cell)} |" for cell in cells)


def row(records, r):
    if not r.get("seconds"):
        return f"| {r['runtime']} | {r['compiler']} | {r['workers']} | {r.get('error', 'failed')} | | | | | |"
    speed_up = None
    if r["workers"] > 1 and r["runtime"] == "serial_twice":
        base = ratio(r, twin(records, r, "serial", workers=1))
        speed_up = 2 / base if base else None
    elif r["workers"] > 1:
        one = pick(records, kernel=r["kernel"], size=r["size"], runtime=r["runtime"], compiler=r["compiler"], workers=1)
        speed_up = median(one) / median(r) if one else None
    cells = [r["runtime"], r["compiler"].split(" (")[0].strip(), str(r["workers"]), f"{median(r):.4g}", f"{min(r['seconds']):.4g}",
             show(ratio(r, twin(records, r, "serial", workers=1))),
             show(ratio(r, twin(records, r, "pilfer_join", workers=r["workers"]))),
             show(speed_up), show(r["peak_kib"] / 1024, 1)]
    return "| " + " | ".join(cells) + " |"
