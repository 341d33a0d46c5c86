-- The sums of net amounts by category, as a struct, of which unnest makes columns. earned: all but loans_and_transfers and unknown.
CREATE OR REPLACE MACRO net_by_category(category, amount) AS {
  earned: coalesce(sum(amount) FILTER (category NOT IN ('loans_and_transfers', 'unknown')), 0::DECIMAL(38,6)),
  sales: coalesce(sum(amount) FILTER (category = 'sales'), 0::DECIMAL(38,6)),
  promotions: coalesce(sum(amount) FILTER (category = 'promotions'), 0::DECIMAL(38,6)),
  fees: coalesce(sum(amount) FILTER (category = 'fees'), 0::DECIMAL(38,6)),
  taxes: coalesce(sum(amount) FILTER (category = 'taxes'), 0::DECIMAL(38,6)),
  refunds: coalesce(sum(amount) FILTER (category = 'refunds'), 0::DECIMAL(38,6)),
  reimbursements: coalesce(sum(amount) FILTER (category = 'reimbursements'), 0::DECIMAL(38,6)),
  loans_and_transfers: coalesce(sum(amount) FILTER (category = 'loans_and_transfers'), 0::DECIMAL(38,6)),
  unknown: coalesce(sum(amount) FILTER (category = 'unknown'), 0::DECIMAL(38,6))
}
