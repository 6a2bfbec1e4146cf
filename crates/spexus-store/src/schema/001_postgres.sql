-- The domain produces the words; each document is one vector of them. Weights tell where a word stands: A a stem of the
-- title, B a stem of the text, C a word as it was written.
ALTER TABLE search_doc ADD COLUMN text tsvector NOT NULL;
CREATE INDEX search_doc_text ON search_doc USING gin (text);
