-- The category of a net amount, which is its column of pnl_by_month, by its event's list (of a transaction: its type), its kind
-- and its own name. A charge named as a tax (Tax, ShippingTax, TCS-IGST) is a tax, not a sale.
CREATE OR REPLACE MACRO category_of(list_or_type, kind, name) AS CASE
  -- Their events give a buyer's money back, together with all that is returned to the seller.
  WHEN list_or_type IN (
    'RefundEventList', 'GuaranteeClaimEventList', 'ChargebackEventList', 'Refund', 'GuaranteeClaim', 'Chargeback'
  ) THEN 'refunds'
  WHEN kind = 'charge' AND (contains(name, 'Tax') OR contains(name, 'VAT') OR starts_with(name, 'TCS')) THEN 'taxes'
  -- Its events give a fee back.
  WHEN kind = 'charge' AND list_or_type = 'ChargeRefundEventList' THEN 'fees'
  WHEN kind = 'charge' THEN 'sales'
  WHEN kind IN ('promotion', 'points') THEN 'promotions'
  WHEN kind = 'fee' THEN 'fees'
  WHEN kind IN ('tax', 'tax_withheld') THEN 'taxes'
  WHEN kind IN ('reimbursement', 'adjustment') THEN 'reimbursements'
  WHEN kind IN ('credit', 'debt', 'loan', 'disbursement', 'direct_payment') THEN 'loans_and_transfers'
  ELSE 'unknown'
END
