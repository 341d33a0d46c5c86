-- One row for each amount of the APIs after v0 (source), with the columns of transaction_amounts: of each API those before the account's
-- first day of a newer one.
$later_amounts
