-- Whether the references of a project's items are shown with its key before them. What is stored of them stays plain.
ALTER TABLE project ADD COLUMN prefix_references {int} NOT NULL DEFAULT 0;
