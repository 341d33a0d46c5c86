-- The category of a net amount, which is its column of pnl_by_month, by its event's list (of a transaction: its type), its kind
-- and its own name. It lists all known types: the first row that applies decides, and a type in no row is unknown.
CREATE OR REPLACE MACRO category_of(list_or_type, kind, name) AS CASE
  -- Their events give a buyer's money back, together with all that is returned to the seller.
  WHEN list_or_type IN (
    'RefundEventList', 'GuaranteeClaimEventList', 'ChargebackEventList', 'Refund', 'GuaranteeClaim', 'Chargeback'
  ) THEN 'refunds'

  -- By kind. A charge named as a tax (Tax, ShippingTax, TCS-IGST) is a tax, not a sale.
  WHEN kind = 'charge' AND (contains(name, 'Tax') OR contains(name, 'VAT') OR starts_with(name, 'TCS')) THEN 'taxes'
  -- Its events give a fee back.
  WHEN kind = 'charge' AND list_or_type = 'ChargeRefundEventList' THEN 'fees'
  WHEN kind = 'charge' THEN 'sales'
  WHEN kind IN ('promotion', 'points') THEN 'promotions'
  WHEN kind = 'fee' THEN 'fees'
  WHEN kind IN ('tax', 'tax_withheld') THEN 'taxes'
  WHEN kind = 'reimbursement' THEN 'reimbursements'
  WHEN kind IN ('credit', 'debt', 'loan', 'disbursement', 'direct_payment') THEN 'loans_and_transfers'
  WHEN kind NOT IN ('adjustment', 'unknown') THEN 'unknown'

  -- By the type of an adjustment, and of a transaction's amount of unknown kind. Labels for postage have their service at the end
  -- (PostageBilling_Postage).
  WHEN starts_with(amount_name(list_or_type, name), 'PostageBilling') THEN 'fees'
  WHEN starts_with(amount_name(list_or_type, name), 'PostageRefund') THEN 'fees'
  WHEN amount_name(list_or_type, name) IN ('NonSubscriptionFeeAdj', 'BaseExpense') THEN 'fees'
  WHEN amount_name(list_or_type, name) IN ('TaxTypeCGST', 'TaxTypeSGST', 'TaxTypeIGST', 'RetrochargeReversal') THEN 'taxes'
  WHEN amount_name(list_or_type, name) IN ('CostOfPointsGranted', 'CostOfPointsReturned', 'PointsGranted') THEN 'promotions'
  WHEN amount_name(list_or_type, name) IN (
    'FBAInventoryReimbursement', 'FBAReversedReimbursement', 'LostOrDamagedReimbursement', 'CanceledButPickedUpReimbursement',
    'ReimbursementClawback', 'SellerRewards', 'BuyerRecharge', 'MiscAdjustment', 'MiscellaneousLedgerAdjustment',
    'WAREHOUSE_LOST', 'WAREHOUSE_DAMAGE', 'REVERSAL_REIMBURSEMENT', 'COMPENSATED_CLAWBACK'
  ) THEN 'reimbursements'
  WHEN amount_name(list_or_type, name) IN (
    'ReserveEvent', 'ReserveCredit', 'ReserveDebit',
    'LoanAdvance', 'LoanPayment', 'LoanRefund', 'DebtPayment', 'DebtPaymentFailure', 'DebtAdjustment',
    'StoredValueCardRevenue', 'StoredValueCardRefund', 'PrivateLabelCreditCardRevenue', 'PrivateLabelCreditCardRefund',
    'CollectOnDeliveryRevenue', 'CollectOnDeliveryRefund'
  ) THEN 'loans_and_transfers'

  -- Transactions of these types have one meaning, whatever their amounts are called.
  WHEN list_or_type IN (
    'SellerDealPayment', 'SellerReviewEnrollmentPayment', 'CouponPayment', 'ImagingServicesFee', 'TrialShipment',
    'ValueAddedServiceCharge', 'CapacityReservationBilling', 'AffordabilityExpense', 'AffordabilityExpenseReversal'
  ) THEN 'fees'
  WHEN list_or_type IN ('NetworkComminglingTransaction', 'TaxWithholding') THEN 'taxes'
  WHEN list_or_type IN ('RemovalShipment', 'RemovalShipmentAdjustment', 'FBALiquidation') THEN 'sales'
  WHEN list_or_type IN (
    'LoanServicing', 'DebtRecovery', 'ServiceProviderCredit', 'AdhocDisbursement', 'FailedAdhocDisbursement', 'Transfer'
  ) THEN 'loans_and_transfers'
  ELSE 'unknown'
END
