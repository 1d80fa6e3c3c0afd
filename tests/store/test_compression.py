"""Compressing stored bytes from several threads."""

from concurrent.futures import ThreadPoolExecutor

from fazm_memory.store.database import compress, decompress


def test_threads_do_not_disturb_each_other() -> None:
    texts = [(f"event {n} " * (2000 + n)).encode() for n in range(16)]

    def there_and_back(n: int) -> bool:
        text = texts[n % len(texts)]
        return decompress(compress(text)) == text

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(there_and_back, range(3000)))


def test_a_frame_longer_than_allowed_is_read_by_its_own_length() -> None:
    assert decompress(compress(b"x" * 4000), 8000) == b"x" * 4000
