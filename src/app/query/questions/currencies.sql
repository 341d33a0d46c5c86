-- Currencies and marketplaces
--
-- One row for each account, currency and marketplace: the first and the last event, the number of orders, and the net amounts. The
-- marketplace is null where no event says it.
SELECT account, ledger_amounts.currency, marketplaces.name AS marketplace, min(effective_at) AS first, max(effective_at) AS last,
  count(DISTINCT amazon_order_id) AS orders, sum(amount) AS net
FROM ledger_amounts LEFT JOIN marketplaces USING (marketplace_id)
WHERE role = 'net'
GROUP BY ALL
ORDER BY account, currency, marketplace
