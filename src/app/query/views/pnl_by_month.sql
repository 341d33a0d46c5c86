-- One row for each account, month and currency: the sums of its net amounts by category. An amount counts when it is paid: its basis
-- is v0, then the paid basis of transactions.
--
-- earned: all but loans_and_transfers and unknown; net_proceeds: all; unsummed: the number of amounts that no sum has.
SELECT * EXCLUDE (basis) FROM pnl_by_basis WHERE basis = 'paid' ORDER BY account, currency, month
