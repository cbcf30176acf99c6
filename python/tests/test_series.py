"""Aggregation of time series."""

import datetime
import pickle
import subprocess
import sys
import warnings
import zoneinfo

import numpy as np
import pytest

import warpstride as ws


def minutes(*values):
    return np.datetime64("2026-03-01T00:00", "ns") + (60e9 * np.array(values)).astype("timedelta64[ns]")


def points(**options):
    times = minutes(0.5, 0.0, 1.5, 0.25, 7.0, 7.5)
    values = [3.0, 1.0, 9.0, 4.0, np.nan, 5.0]
    return ws.series.table(times, values, **options)


def test_buckets_have_their_aggregates():
    table = ws.series.resample(points(), "1m", ["count", "mean", "first", "std", "50pct"], nan="skip", backend="cpu")
    assert table.column_names == ["time", "count", "mean", "first", "std", "50pct"]
    assert table["time"].tolist() == minutes(0, 1, 7).tolist()
    assert table["count"].tolist() == [3, 1, 1]
    assert table["first"].tolist() == [1, 9, 5]
    assert table["50pct"].tolist() == [3, 9, 5]
    expected = [np.std([1, 4, 3], ddof=1), np.nan, np.nan]
    assert np.allclose(table["std"], expected, equal_nan=True)


def test_series_are_told_apart_by_their_labels():
    labels = {"host": ["a", "b", "a", None, "b", "a"], "unit": ["x"] * 6}
    table = ws.series.resample(points(labels=labels), "1h", "max", nan="keep", backend="cpu")
    assert table.column_names == ["host", "unit", "time", "max"]
    found = dict(zip(table["host"], table["max"]))
    assert found["a"] == 9 and np.isnan(found["b"]) and found[None] == 4
    one = ws.series.resample(points(labels=labels), "1h", "count", by=[], backend="cpu")
    assert one.column_names == ["time", "count"] and one["count"].tolist() == [6]


def test_rates_stand_beside_values():
    tables = ws.series.resample(points(), ["1m", "1h"], ["sum", "rate:sum"], nan="skip", backend="cpu")
    assert list(tables) == ["1m", "1h"]
    assert tables["1m"]["rate:sum"].tolist() == [2, 6, -4]
    alone = ws.series.resample(points(), "1m", "rate:sum", nan="skip", backend="cpu")
    assert alone["rate:sum"].tolist() == [2, 6, -4]
    sparse = ws.series.table(minutes(0, 5), [1, 4])
    found = ws.series.resample(sparse, "1m", ["count", "rate:max"], backend="cpu")
    assert np.isnan(found["rate:max"][0]) and found["rate:max"][1] == 3


def test_the_emulator_has_the_bits_of_the_cpu():
    cpu, emulator = (
        ws.series.resample(points(), "1m", ["mean", "std"], nan="skip", backend=backend)
        for backend in ("cpu", "emulator")
    )
    assert np.array_equal(cpu["mean"], emulator["mean"])


def test_tables_pickle_and_are_tables_for_others():
    table = ws.series.resample(points(), "1m", ["mean"], nan="skip", backend="cpu")
    again = pickle.loads(pickle.dumps(table))
    assert again["mean"].tolist() == table["mean"].tolist() and len(again) == 3
    # A result is an input: hours of minutes.
    hours = ws.series.resample(table, "1h", "count", backend="cpu")
    assert hours["count"].tolist() == [3]


def test_a_stream_is_taken_once():
    class Once:
        def __init__(self):
            self.capsule = points().__arrow_c_stream__()

        def __arrow_c_stream__(self, requested_schema=None):
            return self.capsule

    once = Once()
    assert len(ws.series.resample(once, "1h", backend="cpu")) == 1
    with pytest.raises(ws.DataError):
        ws.series.resample(once, "1h", backend="cpu")


def test_polars_goes_there_and_back():
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame(
        {
            "when": minutes(0, 1, 2, 3).astype("datetime64[us]"),
            "host": polars.Series(["a", "b", "a", "b"], dtype=polars.Categorical),
            "load": polars.Series([1, 2, None, 5], dtype=polars.Int32),
        }
    )
    result = polars.DataFrame(ws.series.resample(frame, "1h", ["sum", "std"], backend="cpu"))
    assert result["host"].to_list() == ["a", "b"] and result["sum"].to_list() == [1, 7]
    assert result["std"].to_list()[0] is None
    assert result["when"].dtype == polars.Datetime("ns")


def test_pyarrow_goes_there_and_back():
    pyarrow = pytest.importorskip("pyarrow")
    times = pyarrow.array(minutes(0, 1, 2).astype("datetime64[s]"), pyarrow.timestamp("s", "Europe/Berlin"))
    table = pyarrow.table({"t": times, "sensor": pyarrow.array([7, 8, 7]), "v": [1.5, 2.5, 3.5]})
    found = ws.series.resample(table, "1d", "mean", value="v", by=["sensor"], backend="cpu")
    result = pyarrow.table(found)
    assert result["sensor"].to_pylist() == [7, 8] and result["mean"].to_pylist() == [2.5, 2.5]
    assert result.schema.field("t").type == pyarrow.timestamp("ns", "Europe/Berlin")


def test_pandas_goes_there_and_back():
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    frame = pandas.DataFrame({"t": minutes(0, 1, 61), "v": [1.0, 2.0, 3.0]})
    found = ws.series.resample(frame, "1h", "mean", backend="cpu")
    assert found["mean"].tolist() == [1.5, 3.0]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: ws.series.resample([1, 2], "1m"), "__arrow_c_stream__"),
        (lambda: ws.series.resample(points(), "1x"), "every 1x: expected a length"),
        (lambda: ws.series.resample(points(), "1m", "average"), "aggregate average"),
        (lambda: ws.series.resample(points(), [], "mean"), "at least one length \\(every\\)"),
        (lambda: ws.series.resample(points(), "1m", nan="drop"), "expected keep or skip"),
        (lambda: ws.series.resample(points(), "1m", time="when"), "time \"when\": expected a column"),
        (lambda: ws.series.resample(points(), "1m", time="value"), "expected timestamps"),
        (lambda: ws.series.resample(points(), "1m", by=["value"]), "expected text, integers, booleans, dates or times"),
        (lambda: ws.series.resample(points(), "M", "rate:mean"), "fixed length for rates"),
        (lambda: ws.series.table([1, 2], [1, 2]), "datetime64"),
        (lambda: ws.series.table(minutes(1), [1, 2]), "length|expected"),
        (
            lambda: ws.series.resample(ws.series.table(np.array(["1960-01-01"], "datetime64[ns]"), [1]), "1m"),
            "from 1970",
        ),
    ],
)
def test_wrong_arguments_are_refused_with_a_sentence(call, words):
    with pytest.raises(ws.DataError, match=words):
        call()


def result():
    labels = {"host": ["a", "b", "a", None, "b", "a"]}
    return ws.series.resample(points(labels=labels), "1m", ["count", "std"], nan="skip", backend="cpu")


def test_polars_pandas_and_pyarrow_have_the_same_table():
    polars, pandas, pyarrow = (pytest.importorskip(name) for name in ("polars", "pandas", "pyarrow"))
    table = result()
    arrow = pyarrow.table(table)
    assert arrow.column_names == table.column_names
    assert arrow["time"].to_numpy().tolist() == table["time"].tolist()
    assert arrow["count"].to_numpy().tolist() == table["count"].tolist()
    assert arrow["host"].to_pylist() == list(table["host"])
    frame, panda = polars.DataFrame(table), arrow.to_pandas()
    assert frame.equals(polars.from_arrow(arrow))
    # Each of them is an input again, with the same result.
    days = [
        ws.series.resample(one, "1d", "sum", value="count", backend="cpu") for one in (table, arrow, frame, panda)
    ]
    for day in days:
        assert list(day["host"]) == list(days[0]["host"]) and day["sum"].tolist() == days[0]["sum"].tolist()
    if hasattr(pandas.DataFrame, "from_arrow"):
        assert pandas.DataFrame.from_arrow(table)["count"].tolist() == table["count"].tolist()


def test_tables_are_saved_and_given_to_xarray(tmp_path):
    table = result()
    table.save(tmp_path / "table.arrow")
    with pytest.raises(OSError, match="absent"):
        table.save(tmp_path / "absent" / "table.arrow")
    pyarrow = pytest.importorskip("pyarrow")
    pytest.importorskip("xarray")
    with pyarrow.ipc.open_file(str(tmp_path / "table.arrow")) as file:
        assert file.read_all().equals(pyarrow.table(table))
    assert table.to_xarray()["count"].values.tolist() == table["count"].tolist()


def local_means(tmp_path, times, values, every, zone):
    """What ``warpstride series resample --timezone`` writes: starts in nanoseconds since 1970, and means."""
    rows = "\n".join(f"{time},{value}" for time, value in zip(times.astype("datetime64[ns]").astype(int), values))
    (tmp_path / "in.csv").write_text("time,value\n" + rows + "\n")
    command = [sys.executable, "-m", "warpstride", "series", "resample", tmp_path / "in.csv", "--granularity", every]
    options = ["--aggregate", "mean", "--timezone", zone, "--time-format", "unix-ns", "--backend", "cpu"]
    command = [str(part) for part in [*command, *options, "-o", tmp_path / "out.csv"]]
    subprocess.run(command, check=True, capture_output=True)
    names, *rows = (line.split(",") for line in (tmp_path / "out.csv").read_text().splitlines())
    columns = dict(zip(names, zip(*rows)))
    return list(map(int, columns["timestamp_ns"])), list(map(float, columns["value"]))


@pytest.mark.parametrize(("every", "zone"), [("1d", "Europe/Zurich"), ("M", "America/New_York"), ("1h", "Asia/Kolkata"), ("30m", "Europe/Zurich")])
def test_buckets_of_local_time_are_those_of_zoneinfo(every, zone):
    # Over a change of the clocks.
    local = zoneinfo.ZoneInfo(zone)
    times = np.datetime64("2026-03-25T00:07") + np.arange(0, 10 * 24 * 60, 37).astype("timedelta64[m]")
    values = np.arange(len(times), dtype=float)
    buckets = {}
    for time, value in zip(times.astype("datetime64[s]").astype(int), values):
        at = datetime.datetime.fromtimestamp(int(time), tz=local)
        midnight = at.replace(hour=0, minute=0, second=0)
        if every == "1d":
            start = midnight
        elif every == "M":
            start = midnight.replace(day=1)
        else:
            minutes = {"1h": 60, "30m": 30}[every]
            start = at.replace(minute=at.minute // minutes * minutes, second=0)
        buckets.setdefault(int(start.timestamp()), []).append(value)
    found = ws.series.resample(ws.series.table(times, values), every, ["mean", "count"], timezone=zone, backend="cpu")
    assert found["time"].astype("datetime64[s]").astype(int).tolist() == list(buckets)
    assert found["count"].tolist() == [len(of) for of in buckets.values()]
    assert np.allclose(found["mean"], [np.mean(of) for of in buckets.values()], rtol=1e-14)
    pyarrow = pytest.importorskip("pyarrow")
    assert str(pyarrow.table(found).schema.field("time").type) == f"timestamp[ns, tz={zone}]"


def test_local_days_have_the_bits_of_the_command(tmp_path):
    times = np.datetime64("2026-10-20T00:07", "ns") + np.arange(0, 10 * 24 * 60, 37).astype("timedelta64[m]")
    values = np.random.default_rng(3).normal(size=len(times))
    starts, means = local_means(tmp_path, times, values, "1d", "Europe/Zurich")
    found = ws.series.resample(ws.series.table(times, values), "1d", timezone="Europe/Zurich", backend="cpu")
    assert found["mean"].tolist() == means
    assert found["time"].astype(int).tolist() == starts


@pytest.mark.parametrize(("unit", "scale", "dtype"), [("unix", 1, "int32"), ("unix-ms", 10**3, "int64"), ("unix-us", 10**6, "uint64"), ("unix-ns", 10**9, "int64")])
def test_integers_are_times(unit, scale, dtype):
    pyarrow = pytest.importorskip("pyarrow")
    seconds = 1_770_000_000 + np.arange(0, 7200, 60)
    values = np.arange(len(seconds), dtype=float)
    table = pyarrow.table({"t": pyarrow.array(seconds * scale, pyarrow.type_for_alias(dtype)), "x": values})
    found = ws.series.resample(table, "1h", ["mean", "count"], time="t", time_format=unit, backend="cpu")
    stamps = ws.series.table(seconds.astype("datetime64[s]"), values)
    expected = ws.series.resample(stamps, "1h", ["mean", "count"], backend="cpu")
    for ours, theirs in (("t", "time"), ("mean", "mean"), ("count", "count")):
        assert found[ours].tolist() == expected[theirs].tolist()


def test_bad_zones_and_integers_are_data_errors():
    pyarrow = pytest.importorskip("pyarrow")
    times = np.datetime64("2026-01-01", "s") + np.arange(9)
    table = ws.series.table(times, np.ones(9))
    for options, every, words in [
        ({"timezone": "Europe/Zuerich"}, "1d", "IANA time zone"),
        ({"timezone": "Europe/Zurich"}, "7h", "clocks change"),
        ({"time_format": "iso"}, "1d", "expected unix, unix-ms"),
        ({"time_format": "unix"}, "1d", "expected one column of integers"),
        ({"time_format": "unix", "time": "time"}, "1d", "expected integers"),
    ]:
        with pytest.raises(ws.DataError, match=words):
            ws.series.resample(table, every, backend="cpu", **options)
    for times in ([2**62], [-1]):
        integers = pyarrow.table({"t": pyarrow.array(times, pyarrow.int64()), "x": [1.0]})
        with pytest.raises(ws.DataError, match="from 1970 to 2262"):
            ws.series.resample(integers, "1h", time="t", time_format="unix", backend="cpu")
    early = ws.series.table(np.array([0], dtype="datetime64[s]"), [1.0])
    with pytest.raises(ws.DataError, match="on the clocks of America/New_York"):
        ws.series.resample(early, "1d", timezone="America/New_York", backend="cpu")
def test_a_relation_of_duckdb_goes_in_and_a_result_out():
    duckdb = pytest.importorskip("duckdb", reason="NOT TESTED: duckdb is not installed")
    connection = duckdb.connect()
    relation = connection.sql(
        "select timestamp '2026-03-01' + interval (i * 10) second as t, i::double as v, 'h' || (i % 2) as host "
        "from range(30) points(i)"
    )
    result = ws.series.resample(relation, "1m", ["mean", "count"], backend="cpu")
    assert result.column_names == ["host", "t", "mean", "count"]
    found = connection.sql("select host, t, mean, count from result order by t, host").fetchall()
    expected = connection.sql(
        "select host, date_trunc('minute', t) as minute, avg(v), count(*) from relation group by all order by minute, host"
    ).fetchall()
    assert len(found) == 10 and [row[2:] for row in found] == [row[2:] for row in expected]
    assert [(row[0], row[1].replace(tzinfo=None)) for row in found] == [row[:2] for row in expected]


@pytest.mark.parametrize(
    ("times", "values", "labels", "error", "sentence"),
    [
        (minutes(0, 1), 3.0, None, ws.DataError, r"values: expected a vector \(point\), found shape \(\)"),
        (minutes(0, 1), [[1.0, 2.0]], None, ws.DataError, r"values: expected a vector \(point\), found shape \(1, 2\)"),
        (minutes(0, 1)[np.newaxis], [1.0, 2.0], None, ws.DataError, r"times: expected a vector \(point\), found shape \(1, 2\)"),
        (minutes(0)[0], [1.0], None, ws.DataError, r"times: expected a vector \(point\), found shape \(\)"),
        (minutes(0, 1), [1.0, 2.0, 3.0], None, ws.DataError, "values: expected 2, as many as times, found 3"),
        (minutes(0, 1), [1.0, 2.0], ["h"], ws.DataError, "labels: expected a mapping of names to columns, found list"),
        (minutes(0, 1), [1.0, 2.0], {"h": ["a"]}, ws.DataError, "labels: h: expected 2 entries, as many as times, found 1"),
        (minutes(0, 1), [1.0, 2.0], {"h": "ab"}, TypeError, "labels: h: expected a sequence of texts, found 'ab'"),
        (minutes(0, 1), [1.0, 2.0], {"h": 3}, TypeError, "labels: h: expected a sequence of texts, found 3"),
        (minutes(0, 1), [1.0, 2.0], {"h": ["a", 3]}, TypeError, "labels: h: expected a text, found 3"),
    ],
)
def test_columns_that_make_no_table_are_named(times, values, labels, error, sentence):
    with pytest.raises(error, match=f"^{sentence}$"):
        ws.series.table(times, values, labels)


def test_labels_may_be_arrays():
    table = ws.series.table(minutes(0, 1), [1.0, 2.0], {"h": np.array(["a", "b"]), "u": ("x", None)})
    assert table["h"] == ["a", "b"] and table["u"] == ["x", None]


def test_columns_of_one_name_are_refused():
    times, values = np.array(["2026-01-01", "2026-01-02"], "M8[ns]"), [1.0, 2.0]
    for name in ("time", "value"):
        with pytest.raises(ws.DataError, match=f"found two named {name}"):
            ws.series.table(times, values, {name: ["a", "b"]})
    table = ws.series.table(times, values, {"mean": ["a", "b"]})
    with pytest.raises(ws.DataError, match="found two named mean"):
        ws.series.resample(table, "1d", ["mean"], by=["mean"], backend="cpu")


@pytest.mark.parametrize("part", [slice(None, None, -1), slice(None, None, 2), slice(5, 1, -2), slice(3, 3)])
def test_views_of_arrays_keep_their_order(part):
    times = np.arange(0, 8, dtype="M8[ns]")
    values = np.arange(8.0)
    for found in (ws.series.table(times[part], values[part]), ws.series.table(times[part].copy(), values[part])):
        assert np.array_equal(found["value"], values[part]) and np.array_equal(found["time"], times[part])


def test_points_at_one_time_are_what_duplicates_says():
    table = ws.series.table(minutes(0, 0, 0.5, 0), [10, 20, 40, 30], labels={"host": ["a"] * 4})
    for duplicates, expected in [("keep", [4, 100, 10, 40]), ("first", [2, 50, 10, 40]), ("last", [2, 70, 30, 40])]:
        for backend in ("cpu", "emulator"):
            found = ws.series.resample(table, "1m", ["count", "sum", "first", "last"], duplicates=duplicates, backend=backend)
            assert [found[name][0] for name in ("count", "sum", "first", "last")] == expected, (duplicates, backend)
    with pytest.raises(ws.DataError, match="host=a at each time, found several at 2026-03-01T00:00:00Z"):
        ws.series.resample(table, "1m", duplicates="error", backend="cpu")
    with pytest.raises(ws.DataError, match="expected keep, first, last or error"):
        ws.series.resample(table, "1m", duplicates="sum", backend="cpu")
    assert ws.series.resample(table, "1m", "sum", by=[], backend="cpu")["sum"].tolist() == [100]


def test_columns_that_may_tell_series_apart_are_named_or_an_error():
    pyarrow = pytest.importorskip("pyarrow")
    times = pyarrow.array(minutes(0, 1).astype("datetime64[us]"))
    for name, column in {
        "labels": pyarrow.array([{"host": "a"}, {"host": "b"}]),
        "tags": pyarrow.array([["a"], ["b"]]),
        "flag": pyarrow.array([True, False]),
        "key": pyarrow.array([b"0" * 16, b"1" * 16], pyarrow.binary(16)),
    }.items():
        table = pyarrow.table({"time": times, "value": [1.0, 2.0], name: column})
        with pytest.raises(ws.DataError, match=f"by: .*{name}"):
            ws.series.resample(table, "1h", backend="cpu")
        assert ws.series.resample(table, "1h", "sum", by=[], backend="cpu")["sum"].tolist() == [3]
    days = pyarrow.array([datetime.date(2026, 1, 1), datetime.date(2026, 1, 2)])
    table = pyarrow.table({"time": times, "value": [1.0, 2.0], "flag": [True, False], "day": days})
    found = ws.series.resample(table, "1h", "sum", time="time", by=["flag", "day"], backend="cpu")
    assert found["flag"] == ["true", "false"] and found["day"] == ["2026-01-01", "2026-01-02"]


def test_dates_that_lie_side_by_side_are_an_error():
    pyarrow = pytest.importorskip("pyarrow")
    times = pyarrow.array(minutes(0, 1, 2, 3).astype("datetime64[us]"))
    day = datetime.date(2026, 1, 1)
    other = datetime.date(2026, 1, 2)
    for kind in (pyarrow.date32(), pyarrow.timestamp("us")):
        started = pyarrow.array([day, other, day, other]).cast(kind)
        table = pyarrow.table({"time": times, "value": [1.0, 2.0, 3.0, 4.0], "started": started})
        with pytest.raises(ws.DataError, match="by: .*started lie side by side in time"):
            ws.series.resample(table, "1h", "sum", time="time", backend="cpu")
        found = ws.series.resample(table, "1h", "sum", time="time", by=[], backend="cpu")
        assert found["sum"].tolist() == [10]
        after = pyarrow.array([day, day, other, other]).cast(kind)
        table = pyarrow.table({"time": times, "value": [1.0, 2.0, 3.0, 4.0], "started": after})
        with pytest.warns(UserWarning, match="unused columns: started"):
            found = ws.series.resample(table, "1h", "sum", time="time", backend="cpu")
        assert found["sum"].tolist() == [10]


def test_dictionaries_and_times_are_read():
    pyarrow = pytest.importorskip("pyarrow")
    times = minutes(0, 1, 2, 3).astype("datetime64[us]")
    days = np.array(["2026-01-01", "2026-01-02"] * 2, "datetime64[us]")
    for labels, expected in [
        (pyarrow.array([7, 8, 7, 8]), [7, 8]),
        (pyarrow.array(days), ["2026-01-01T00:00:00", "2026-01-02T00:00:00"]),
        (pyarrow.array(days).cast(pyarrow.timestamp("s", "UTC")), ["2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"]),
    ]:
        for coded in (labels, labels.dictionary_encode()):
            values = pyarrow.array([1.0, 2.0, 1.0, None]).dictionary_encode()
            table = pyarrow.table({"time": times, "value": values, "run": coded})
            found = ws.series.resample(table, "1h", "sum", time="time", value="value", by=["run"], backend="cpu")
            assert found["run"] == expected and found["sum"].tolist() == [2.0, 2.0]
    local = pyarrow.array(times + np.timedelta64(1, "h"))
    table = pyarrow.table({"time": times, "value": [1.0, 2.0, 3.0, 4.0], "local": local})
    with pytest.warns(UserWarning, match="unused columns: local"):
        ws.series.resample(table, "1h", time="time", backend="cpu")


def test_values_that_stand_for_missing_ones():
    pyarrow = pytest.importorskip("pyarrow")
    times = pyarrow.array(minutes(0, 1, 2, 3).astype("datetime64[us]"))
    for kind, text in [
        (pyarrow.float64(), "-9999"),
        (pyarrow.int32(), "-999"),
        (pyarrow.float32(), "9.96921e36"),
        (pyarrow.float32(), "-999.9"),
    ]:
        number = float(text)
        values = pyarrow.array([1, number, number, 4], pyarrow.float64()).cast(kind)
        table = pyarrow.table({"time": times, "value": values})
        with pytest.warns(UserWarning, match=f"the value {text} occurs 2 times.*missing_values=\\[{text}\\]"):
            found = ws.series.resample(table, "1h", "count", backend="cpu")
        assert found["count"].tolist() == [4]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = ws.series.resample(
                table, "1h", ["count", "mean"], missing_values=[number], backend="cpu"
            )
        assert found["count"].tolist() == [2] and found["mean"].tolist() == [2.5]
    for wrong in (-9999, "-9999", ["NA"], [float("nan")]):
        with pytest.raises(TypeError, match="missing_values: expected a sequence of finite numbers"):
            ws.series.resample(table, "1h", missing_values=wrong, backend="cpu")


def test_doubts_are_warnings():
    pyarrow = pytest.importorskip("pyarrow")
    times = pyarrow.array(minutes(0, 1).astype("datetime64[us]"))
    table = pyarrow.table({"time": times, "value": pyarrow.array([2**53 + 1, None], pyarrow.int64())})
    with pytest.warns(UserWarning, match="1 integer beyond 2\\^53 was rounded to double precision: 9007199254740993"):
        found = ws.series.resample(table, "1h", ["count", "max"], backend="cpu")
    assert found["count"].tolist() == [1] and found["max"].tolist() == [2.0**53]
    table = pyarrow.table({"time": times, "value": [1.0, 2.0], "rack": [1, 2]})
    with pytest.warns(UserWarning, match="unused columns: rack"):
        ws.series.resample(table, "1h", value="value", backend="cpu")
    early = ws.series.table(np.array([1_770_000_000], "datetime64[us]"), [1.0])
    with pytest.warns(UserWarning, match="January of 1970"):
        ws.series.resample(early, "1h", backend="cpu")


def test_numbers_are_times_by_their_names():
    pyarrow = pytest.importorskip("pyarrow")
    seconds = 1_770_000_000 + np.arange(0, 7200, 60)
    for times, value in [(seconds.astype(float), np.arange(120)), (seconds, np.arange(120.0)), (seconds + 0.25, np.arange(120))]:
        table = pyarrow.table({"value": value, "time": times})
        found = ws.series.resample(table, "1h", ["count", "mean"], time_format="unix", backend="cpu")
        stamps = ws.series.table((1000 * times).astype("datetime64[ms]"), value)
        expected = ws.series.resample(stamps, "1h", ["count", "mean"], backend="cpu")
        for name in ("time", "count", "mean"):
            assert found[name].tolist() == expected[name].tolist()
    unclear = pyarrow.table({"seen": seconds.astype(float), "amount": np.arange(120)})
    with pytest.raises(ws.DataError, match="time: expected one column of integers or float64.*found 2.*time="):
        ws.series.resample(unclear, "1h", time_format="unix", backend="cpu")
    found = ws.series.resample(unclear, "1h", "max", time="seen", time_format="unix", backend="cpu")
    assert found["max"].tolist()[-1] == 119
    found = ws.series.resample(unclear, "1h", "max", value="amount", time_format="unix", backend="cpu")
    assert found["max"].tolist()[-1] == 119
    exact = pyarrow.table({"time": [1739184970.553], "value": [1.0]})
    found = ws.series.resample(exact, "1ms", time_format="unix", backend="cpu")
    assert found["time"].astype(int).tolist() == [1739184970553 * 10**6]
    for wrong in (float("nan"), -1.0, 1e30):
        with pytest.raises(ws.DataError, match="from 1970 to 2262"):
            table = pyarrow.table({"time": [wrong], "value": [1.0]})
            ws.series.resample(table, "1h", time_format="unix", backend="cpu")


def test_integers_that_are_rounded_give_a_warning():
    times = minutes(0, 1).astype("datetime64[us]")
    for dtype, number in [("int64", 2**53 + 1), ("int64", -(2**53) - 1), ("uint64", 2**64 - 1), (">i8", 2**53 + 1)]:
        with pytest.warns(UserWarning, match=f"values: 1 integer beyond 2\\^53 was rounded to double precision: {number}"):
            ws.series.table(times, np.array([2**53, number], dtype) if number > 0 else np.array([1, number], dtype))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ws.series.table(times, np.array([2**53, 2**60]))


def test_dates_beside_times_of_day_are_refused():
    pyarrow = pytest.importorskip("pyarrow")
    days = pyarrow.array([datetime.date(2026, 1, 1)] * 2)
    clock = pyarrow.array([datetime.time(6), datetime.time(18)])
    for dates in (days, days.cast(pyarrow.timestamp("us"))):
        for of_day, name in [(clock.cast(pyarrow.time32("s")), "clock"), (clock, "clock"), (pyarrow.array([6, 18]), "hour")]:
            table = pyarrow.table({"day": dates, name: of_day, "value": [1.0, 2.0]})
            with pytest.raises(ws.DataError, match=f"found dates in day and times of day in {name}; combine the columns"):
                ws.series.resample(table, "1h", value="value", backend="cpu")
    whole = pyarrow.table({"time": minutes(1, 2).astype("datetime64[us]"), "clock": clock, "value": [1.0, 2.0]})
    with pytest.warns(UserWarning, match="unused columns: clock"):
        ws.series.resample(whole, "1h", backend="cpu")


def test_cells_without_a_value_give_a_warning():
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table({"time": minutes(0, 1, 2).astype("datetime64[us]"), "value": [1.0, None, None]})
    with pytest.warns(UserWarning, match=r"2 cells without a value \(null\) are no points"):
        found = ws.series.resample(table, "1h", "count", backend="cpu")
    assert found["count"].tolist() == [1]
