-- Words and stems are produced by the domain; the tokenizer only has to split at spaces and leave them alone.
CREATE VIRTUAL TABLE search_text USING fts5 (
    title, body, words,
    content = '', contentless_delete = 1, detail = 'full',
    tokenize = "unicode61 remove_diacritics 0", prefix = '2 3'
);
