-- One row for each amount of the APIs after v0 (source), with the columns of transaction_amounts.
$rows
