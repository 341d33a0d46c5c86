-- Tax of buyers by marketplace, in a month
--
-- One row for each account, country and currency: the tax that buyers paid (charged), what the marketplace withheld of it or took later
-- (withheld), what refunds gave back, less what the marketplace gave back (refunded), and the rest (to_remit). It is what the lake has,
-- not what is owed: who remits a tax depends on the country.
--
-- $month: month = newest, the month
WITH taxes_ AS (
  SELECT account, marketplace_id, currency, amount, CASE
      WHEN category = 'refunds' THEN 'refunded'
      WHEN kind = 'tax_withheld' OR starts_with(event_list, 'Retrocharge') OR starts_with(name, 'TCS') THEN 'withheld'
      ELSE 'charged'
    END AS part_
  FROM ledger_amounts
  WHERE role = 'net' AND month = $month AND (
    kind IN ('tax', 'tax_withheld')
    OR kind = 'charge' AND (contains(name, 'Tax') OR contains(name, 'VAT') OR starts_with(name, 'TCS'))
  ) AND (
    category = 'refunds' OR regexp_matches(
      event_list, '^(?:Shipment|ShipmentSettle|RentalTransaction|RemovalShipment|RemovalShipmentAdjustment|Retrocharge)(?:EventList)?$'
    )
  )
)
SELECT account, country, taxes_.currency,
  coalesce(sum(amount) FILTER (part_ = 'charged'), 0) AS charged,
  coalesce(sum(amount) FILTER (part_ = 'withheld'), 0) AS withheld,
  coalesce(sum(amount) FILTER (part_ = 'refunded'), 0) AS refunded,
  sum(amount) AS to_remit
FROM taxes_ LEFT JOIN marketplaces USING (marketplace_id)
GROUP BY account, country, taxes_.currency
ORDER BY account, country, currency
