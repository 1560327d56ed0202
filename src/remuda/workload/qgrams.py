"""Text as predicates: q-grams of titles and keywords of queries.

The first is the BE-Tree paper's way with DBLP, the second the PS-Tree paper's with a query log.
Words are synthetic, of syllables whose letters are drawn by Zipf's law, and so are texts of words,
unless files of real ones are given.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np

from remuda.arrays import Ints, Longs, Ragged, starts_of, take_rows
from remuda.workload import real_texts
from remuda.workload.begen import AS_PUBLISHED, Loosening, chosen_bases, derived, n_bases, taken
from remuda.workload.columns import EventColumns, Workload, conjunctions, spans
from remuda.workload.draws import (
    first_columns,
    first_occurrences,
    ranks,
    sizes_around,
    within_limits,
    zipf_weights,
)

_LETTERS = "etaoinshrdlcumwfgypbvkjxqz"  # the most frequent first
_VOWELS = np.array([i for i, letter in enumerate(_LETTERS) if letter in "aeiou"])
_CONSONANTS = np.array([i for i, letter in enumerate(_LETTERS) if letter not in "aeiou"])
_MAX_SYLLABLES = 4


@dataclass(frozen=True, slots=True)
class QGrams:
    """The last columns of Table 3: "string" is ['st' = 'r', 'tr' = 'i', 'ri' = 'n', 'in' = 'g'].

    Events are titles and subscriptions derive from them as in BEGen, whose parameters these are.
    Size 8 from 16 are authors' names, 30 from 43 titles. The sets without a match probability,
    where each subscription is itself an event, have equal sizes, no spread, the operators MIN and
    a `match_probability` of 1 / `n_subscriptions`.

    `titles` is a file of real ones: DBLP's XML, or a title a line. Of these, the first that are
    long enough for a subscription are taken, as many as the match probability asks for.
    """

    n_subscriptions: int = 100_000
    n_events: int = 1_000
    q: int = 3
    subscription_size: int = 8
    event_size: int = 16
    spread: int = 3
    n_words: int = 20_000
    match_probability: float = 0.01
    loosening: Loosening = AS_PUBLISHED
    titles: str = ""
    seed: int = 1

    def __post_init__(self) -> None:
        if self.q not in (2, 3, 4):
            raise ValueError(f"q is 2, 3 or 4, not {self.q}")
        if not self.spread < self.subscription_size <= self.event_size:
            raise ValueError(
                f"subscriptions of {self.subscription_size} ± {self.spread} q-grams "
                f"do not fit events of {self.event_size}"
            )

    def draw(self) -> Workload:
        rng = np.random.default_rng(self.seed)
        read = self._read_titles if self.titles else self._titles
        titles = read(rng, n_bases(self.match_probability))
        sizes = sizes_around(rng, self.subscription_size, self.spread, self.n_subscriptions)
        names = tuple(map("".join, product(_LETTERS, repeat=self.q - 1)))
        n_values = np.full(len(names), len(_LETTERS), np.int32)
        criteria = derived(rng, titles, n_values, sizes, self.loosening, names)
        rows, dims, values = taken(titles, chosen_bases(rng, len(titles), self.n_events))
        starts = starts_of(np.bincount(rows, minlength=self.n_events))
        return Workload(criteria, EventColumns(starts, dims, values))

    def _titles(self, rng: np.random.Generator, n: int) -> EventColumns:
        """Titles of words, as long as it takes to have the wanted number of q-grams."""
        words = _vocabulary(rng, self.n_words)
        sizes = sizes_around(rng, self.event_size, self.spread, n)
        longest = 4 * (self.event_size + self.spread)  # many q-grams occur again
        chosen = ranks(rng, zipf_weights(self.n_words, 1.0), n * longest // 2)
        text = take_rows(words, chosen).items
        letters = np.resize(text, (n, longest)).astype(np.int64)
        prefixes = self._prefixes(letters)
        rows = np.repeat(np.arange(n), prefixes.shape[1])
        return _events(rows, prefixes.ravel(), letters[:, self.q - 1 :].ravel(), sizes)

    def _read_titles(self, rng: np.random.Generator, n: int) -> EventColumns:
        """Titles of the file."""
        rows, dims, values = [], [], []
        n_read = 0
        for title in real_texts.titles(self.titles):
            letters = np.array([_LETTERS.index(one) for one in "".join(real_texts.words(title))])
            prefixes = self._prefixes(letters[None, :].astype(np.int64))[0]
            if len(np.unique(prefixes)) < self.subscription_size + self.spread:
                continue
            rows.append(np.full(len(prefixes), n_read))
            dims.append(prefixes)
            values.append(letters[self.q - 1 :])
            n_read += 1
            if n_read == n:
                break
        if n_read < n:
            raise ValueError(
                f"{self.titles}: {n_read} titles are long enough; a match probability of "
                f"{self.match_probability} needs {n}"
            )
        sizes = sizes_around(rng, self.event_size, self.spread, n)
        return _events(np.concatenate(rows), np.concatenate(dims), np.concatenate(values), sizes)

    def _prefixes(self, letters: Longs) -> Longs:
        """Of each row of letters, the attributes of its q-grams."""
        prefixes = np.zeros((len(letters), max(letters.shape[1] - self.q + 1, 0)), np.int64)
        for i in range(self.q - 1):
            prefixes = prefixes * len(_LETTERS) + letters[:, i : i + prefixes.shape[1]]
        return prefixes


@dataclass(frozen=True, slots=True)
class Keywords:
    """The query log of PS-Tree's section 7.1: "boolean" is boo = "lea", "vldb" is vl = "db".

    A keyword of more than six letters gives its first three as the attribute and the next three
    as the value, a shorter one its halves. Queries are subscriptions, documents are events.
    About one query in a hundred matches a document.

    `queries` and `documents` are files of real ones, a text a line (of a log, its column Query);
    the first that are long enough are taken, their first words up to the size that is drawn.
    """

    n_queries: int = 100_000
    n_documents: int = 1_000
    n_words: int = 100_000
    query_size: int = 3
    query_spread: int = 2
    document_size: int = 90
    document_spread: int = 30
    alpha: float = 0.7
    queries: str = ""
    documents: str = ""
    seed: int = 1

    def __post_init__(self) -> None:
        if bool(self.queries) != bool(self.documents):
            raise ValueError("real queries need real documents, and these need those")
        if self.query_spread >= self.query_size or self.document_spread >= self.document_size:
            raise ValueError("a spread as large as the size leaves texts without a keyword")

    def draw(self) -> Workload:
        rng = np.random.default_rng(self.seed)
        if self.queries:
            return self._read(rng)
        word_dims, word_values, n_values, names = _split(_spelt(_vocabulary(rng, self.n_words)))

        def drawn(n: int, size: int, spread: int) -> EventColumns:
            sizes = sizes_around(rng, size, spread, n)
            rows = np.repeat(np.arange(n), 2 * (size + spread))  # attributes occur again
            chosen = ranks(rng, zipf_weights(self.n_words, self.alpha), len(rows))
            return _events(rows, word_dims[chosen], word_values[chosen], sizes)

        queries = drawn(self.n_queries, self.query_size, self.query_spread)
        documents = drawn(self.n_documents, self.document_size, self.document_spread)
        return _asked(n_values, names, queries, documents)

    def _read(self, rng: np.random.Generator) -> Workload:
        """Texts of the files."""
        sizes = [
            sizes_around(rng, self.query_size, self.query_spread, self.n_queries),
            sizes_around(rng, self.document_size, self.document_spread, self.n_documents),
        ]
        corpora = [
            _long_enough(source, own)
            for source, own in zip(
                (real_texts.queries(self.queries), real_texts.queries(self.documents)),
                sizes,
                strict=True,
            )
        ]
        known = {word: None for several in corpora for text in several for word in text}
        word_dims, word_values, n_values, names = _split(list(known))
        numbers = {word: number for number, word in enumerate(known)}
        columns = []
        for several, own in zip(corpora, sizes, strict=True):
            chosen = np.array([numbers[word] for text in several for word in text], np.int64)
            rows = np.repeat(np.arange(len(several)), [len(text) for text in several])
            columns.append(
                _events(rows, word_dims[chosen], word_values[chosen], own[: len(several)])
            )
        return _asked(n_values, names, *columns)


def _long_enough(source: Iterator[str], sizes: Longs) -> list[list[str]]:
    """Texts that have a word of two letters at least, no more than there are sizes."""
    texts: list[list[str]] = []
    for text in source:
        kept = [word for word in real_texts.words(text) if len(word) > 1]
        if kept:
            texts.append(kept)
        if len(texts) == len(sizes):
            break
    return texts


def _asked(
    n_values: Ints, names: tuple[str, ...], queries: EventColumns, documents: EventColumns
) -> Workload:
    """Queries of keywords as criteria, documents as events."""
    value, none = queries.values.astype(np.int64), np.empty(0, np.int64)
    criteria = conjunctions(
        n_values,
        queries.starts,
        queries.dims,
        np.zeros(len(value), np.bool_),
        spans(value, value, none, none),
        names=names,
    )
    return Workload(criteria, documents)


def _vocabulary(rng: np.random.Generator, n: int) -> Ragged:
    """Words as rows of letters: one to four syllables, some closed by a consonant."""
    shape = (n, _MAX_SYLLABLES)
    size = n * _MAX_SYLLABLES
    consonants = zipf_weights(len(_CONSONANTS), 0.8)
    letters = np.stack(
        [
            _CONSONANTS[ranks(rng, consonants, size)].reshape(shape),
            _VOWELS[ranks(rng, zipf_weights(len(_VOWELS), 0.8), size)].reshape(shape),
            _CONSONANTS[ranks(rng, consonants, size)].reshape(shape),
        ],
        axis=2,
    )
    spoken = np.repeat(first_columns(rng.integers(1, _MAX_SYLLABLES + 1, n), shape[1]), 3, axis=1)
    spoken = spoken.reshape(letters.shape)
    spoken[:, :, 2] &= rng.random(shape) < 0.4
    return Ragged(starts_of(spoken.sum(axis=(1, 2))), letters[spoken].astype(np.int32))


def _spelt(words: Ragged) -> list[str]:
    n = len(words.starts) - 1
    return ["".join(_LETTERS[letter] for letter in words.row(i)) for i in range(n)]


def _split(words: list[str]) -> tuple[Ints, Ints, Ints, tuple[str, ...]]:
    """The attribute and the value of each word; how many values attributes have; their names."""
    cuts = [3 if len(word) > 6 else (len(word) + 1) // 2 for word in words]
    pairs = [(word[:cut], word[cut : 2 * cut]) for word, cut in zip(words, cuts, strict=True)]
    names = tuple(sorted({name for name, _ in pairs}))
    values: dict[str, dict[str, int]] = {name: {} for name in names}
    numbers = [values[name].setdefault(value, len(values[name])) for name, value in pairs]
    dims = {name: dim for dim, name in enumerate(names)}
    return (
        np.array([dims[name] for name, _ in pairs], np.int32),
        np.array(numbers, np.int32),
        np.array([len(values[name]) for name in names], np.int32),
        names,
    )


def _events(rows: Longs, dims: np.ndarray, values: np.ndarray, sizes: Longs) -> EventColumns:
    """The first `sizes[i]` distinct dimensions of row i, ascending."""
    kept = np.flatnonzero(first_occurrences(rows, dims))
    kept = kept[within_limits(rows[kept], sizes)]
    return EventColumns.of(rows[kept], dims[kept], values[kept], len(sizes))
