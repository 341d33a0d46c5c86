-- Advertising by month: ads, coupons and deals
--
-- One row for each account, currency and month, the newest first: what ads, coupons, and deals and reviews cost, the tax on these, the
-- total, and what that is of each 100 of sales (rate).
--
-- $from: month = newest - 12, the first month
WITH costs_ AS (
  SELECT account, currency, month, category, amount, CASE
      WHEN starts_with(event_list, 'ProductAdsPayment') THEN 'ads'
      WHEN starts_with(event_list, 'CouponPayment') THEN 'coupons'
      ELSE 'deals'
    END AS part_
  FROM ledger_amounts
  WHERE role = 'net' AND month >= $from AND category IN ('fees', 'taxes') AND (
    starts_with(event_list, 'ProductAdsPayment') OR starts_with(event_list, 'CouponPayment')
    OR starts_with(event_list, 'SellerDealPayment') OR starts_with(event_list, 'SellerReviewEnrollmentPayment')
  )
), sums_ AS (
  SELECT account, currency, month,
    coalesce(sum(amount) FILTER (part_ = 'ads' AND category = 'fees'), 0) AS ads,
    coalesce(sum(amount) FILTER (part_ = 'coupons' AND category = 'fees'), 0) AS coupons,
    coalesce(sum(amount) FILTER (part_ = 'deals' AND category = 'fees'), 0) AS deals,
    coalesce(sum(amount) FILTER (category = 'taxes'), 0) AS tax,
    sum(amount) AS total
  FROM costs_
  GROUP BY ALL
)
SELECT account, currency, month, ads, coupons, deals, tax, total, percent_of(-total, sales) AS rate
FROM sums_ JOIN pnl_by_month USING (account, currency, month)
ORDER BY account, currency, month DESC
