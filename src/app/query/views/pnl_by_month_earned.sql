-- One row for each account, month and currency, with the columns of pnl_by_month. An amount counts when it happened: its basis is v0,
-- then the earned basis of transactions. It equals pnl_by_month where only v0 is loaded.
SELECT * EXCLUDE (basis) FROM pnl_by_basis WHERE basis = 'earned' ORDER BY account, currency, month
