-- One row for each amount of transaction_entries_paid, with the lists, names and category of v0. The columns are those of
-- transaction_amounts.
SELECT * EXCLUDE (is_paid, is_earned) FROM transaction_amounts WHERE is_paid
