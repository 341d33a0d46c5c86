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

  -- By the type of an adjustment, and of a transaction's amount of unknown kind: first its own, without the service at the end of
  -- labels for postage (PostageBilling_Postage), then that of a transaction with one meaning, whatever its amounts are called.
  ELSE coalesce(
    map_extract(MAP {
      'PostageBilling': 'fees', 'PostageRefund': 'fees', 'NonSubscriptionFeeAdj': 'fees', 'BaseExpense': 'fees',
      'TaxTypeCGST': 'taxes', 'TaxTypeSGST': 'taxes', 'TaxTypeIGST': 'taxes', 'RetrochargeReversal': 'taxes',
      'CostOfPointsGranted': 'promotions', 'CostOfPointsReturned': 'promotions', 'PointsGranted': 'promotions',
      'FBAInventoryReimbursement': 'reimbursements', 'FBAReversedReimbursement': 'reimbursements',
      'LostOrDamagedReimbursement': 'reimbursements', 'CanceledButPickedUpReimbursement': 'reimbursements',
      'ReimbursementClawback': 'reimbursements', 'SellerRewards': 'reimbursements', 'BuyerRecharge': 'reimbursements',
      'MiscAdjustment': 'reimbursements', 'MiscellaneousLedgerAdjustment': 'reimbursements',
      'WAREHOUSE_LOST': 'reimbursements', 'WAREHOUSE_DAMAGE': 'reimbursements', 'REVERSAL_REIMBURSEMENT': 'reimbursements',
      'COMPENSATED_CLAWBACK': 'reimbursements',
      'ReserveEvent': 'loans_and_transfers', 'ReserveCredit': 'loans_and_transfers', 'ReserveDebit': 'loans_and_transfers',
      'LoanAdvance': 'loans_and_transfers', 'LoanPayment': 'loans_and_transfers', 'LoanRefund': 'loans_and_transfers',
      'DebtPayment': 'loans_and_transfers', 'DebtPaymentFailure': 'loans_and_transfers',
      'DebtAdjustment': 'loans_and_transfers', 'StoredValueCardRevenue': 'loans_and_transfers',
      'StoredValueCardRefund': 'loans_and_transfers', 'PrivateLabelCreditCardRevenue': 'loans_and_transfers',
      'PrivateLabelCreditCardRefund': 'loans_and_transfers', 'CollectOnDeliveryRevenue': 'loans_and_transfers',
      'CollectOnDeliveryRefund': 'loans_and_transfers'
    }, regexp_replace(amount_name(list_or_type, name), '^(PostageBilling|PostageRefund).*', '\1'))[1],
    map_extract(MAP {
      'SellerDealPayment': 'fees', 'SellerReviewEnrollmentPayment': 'fees', 'CouponPayment': 'fees',
      'ImagingServicesFee': 'fees', 'TrialShipment': 'fees', 'ValueAddedServiceCharge': 'fees',
      'CapacityReservationBilling': 'fees', 'AffordabilityExpense': 'fees', 'AffordabilityExpenseReversal': 'fees',
      'NetworkComminglingTransaction': 'taxes', 'TaxWithholding': 'taxes',
      'RemovalShipment': 'sales', 'RemovalShipmentAdjustment': 'sales', 'FBALiquidation': 'sales',
      'LoanServicing': 'loans_and_transfers', 'DebtRecovery': 'loans_and_transfers',
      'ServiceProviderCredit': 'loans_and_transfers', 'AdhocDisbursement': 'loans_and_transfers',
      'FailedAdhocDisbursement': 'loans_and_transfers', 'Transfer': 'loans_and_transfers'
    }, list_or_type)[1],
    'unknown'
  )
END
