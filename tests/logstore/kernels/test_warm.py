"""`warm` compiles what later calls need: after it, nothing is compiled any more."""

import numpy as np
import pytest

from epoch.compiling.kernel import COMPILES
from logstore.batch.decoding.object_decoder import ObjectDecoder, Section
from logstore.kernels import (
    batch_digest,
    column_scan,
    crc,
    decode,
    digest,
    index_agreement,
    objects,
    record_checks,
    render,
    scan,
    search,
    standalone,
    totals,
)
from logstore.verify.batch_totals import BatchTotals
from logstore.warming.warm import warm
from tests.logstore.batches import log


def test_each_kernel_is_named_with_its_seconds() -> None:
    timings = warm()
    assert len({name for name, _ in timings}) == len(timings) == 43
    assert all(seconds >= 0 for _, seconds in timings)


@pytest.mark.skipif(not COMPILES, reason="numba compiles nothing here")
def test_ordinary_use_compiles_nothing_more() -> None:
    kernels = [scan.scan_batches, scan.search_batch, decode.decode_batches, decode.check_batches]
    kernels += [search.lookup_offset, crc.crc32c, render.render_text, render.render_json, render.measure]
    kernels += [digest.digest_batches, digest.digest_fields, digest.digest_records]
    kernels += [objects.write_objects, totals.total_batches]
    kernels += [index_agreement.offset_index_agrees, index_agreement.time_index_agrees]
    warm()
    before = [len(kernel.signatures) for kernel in kernels]
    for data in (np.frombuffer(log(3), np.uint8), np.frombuffer(bytearray(log(3)), np.uint8)):
        batches = column_scan.scan(data, check_crc=True)
        scan.find_next_batch(data, 1, len(data), 0)
        record_checks.check_records(data, batches)
        record_checks.check_records(data, batches, np.array([1]))
        section = np.array([0]), np.array([0]), np.array([len(data) - 61])
        record_checks.check_sections(data[61:], batches, *section)
        decode.decode_section(np.frombuffer(log(1)[61:], np.uint8), batches, 0)
        records = decode.decode(data, batches)
        assert len(records) == 9
        list(ObjectDecoder().runs(memoryview(data)[61:], [Section(0, len(data) - 61, 1, 0, 2, 0, False)]))
        batch_digest.digest(batches, 16)
        BatchTotals.by_kernel(batches)
        no_index = np.frombuffer(b"", np.uint8)
        standalone.offset_index_agrees(no_index, 0, batches.position, batches.last_offset)
        columns = batches.base_offset, batches.last_offset, batches.max_timestamp
        standalone.time_index_agrees(no_index, 0, *columns)
        digest.digest_keys(records)
        digest.digest_contents(records)
        for json in (False, True):
            render.LineRenderer(b"x", json=json).render(records, render.sequences(records, batches))
    assert [len(kernel.signatures) for kernel in kernels] == before
