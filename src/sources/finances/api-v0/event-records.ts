/**
 * Every list of events, its record type, and every money path of each record with its role and kind.
 *
 * `net` amounts add up to the change of the seller's balance; `memo` is a total, a basis or a breakdown of amounts that other
 * paths count: adding it would count money twice.
 */
export type Role = 'net' | 'memo' | 'unknown';

export interface RecordAmount {
  /** Relative to the event; `[]` marks an element of an array. */
  readonly path: string;
  readonly role: Role;
  /** The category for analysis. */
  readonly kind: string;
}

export interface EventRecord {
  /** Top-level field with the event's date; undefined: none. */
  readonly date: string | undefined;
  /** Top-level fields with order ids. */
  readonly orderIds: readonly string[];
  readonly amounts: readonly RecordAmount[];
}

const net = (kind: string, ...paths: string[]): RecordAmount[] => paths.map((path) => ({ path, role: 'net', kind }));
const memo = (kind: string, ...paths: string[]): RecordAmount[] => paths.map((path) => ({ path, role: 'memo', kind }));

const record = (date: string | undefined, orderIds: readonly string[], ...amounts: RecordAmount[][]): EventRecord => ({
  date,
  orderIds,
  amounts: amounts.flat(),
});

/** The 29 record types. */
export const records = {
  ShipmentEvent: record(
    'PostedDate',
    ['AmazonOrderId', 'SellerOrderId'],
    net(
      'charge',
      'OrderChargeList[].ChargeAmount',
      'OrderChargeAdjustmentList[].ChargeAmount',
      'ShipmentItemList[].ItemChargeList[].ChargeAmount',
      'ShipmentItemList[].ItemChargeAdjustmentList[].ChargeAmount',
      'ShipmentItemAdjustmentList[].ItemChargeList[].ChargeAmount',
      'ShipmentItemAdjustmentList[].ItemChargeAdjustmentList[].ChargeAmount',
    ),
    net(
      'fee',
      'ShipmentFeeList[].FeeAmount',
      'ShipmentFeeAdjustmentList[].FeeAmount',
      'OrderFeeList[].FeeAmount',
      'OrderFeeAdjustmentList[].FeeAmount',
      'ShipmentItemList[].ItemFeeList[].FeeAmount',
      'ShipmentItemList[].ItemFeeAdjustmentList[].FeeAmount',
      'ShipmentItemAdjustmentList[].ItemFeeList[].FeeAmount',
      'ShipmentItemAdjustmentList[].ItemFeeAdjustmentList[].FeeAmount',
    ),
    net('direct_payment', 'DirectPaymentList[].DirectPaymentAmount'),
    net(
      'tax_withheld',
      'ShipmentItemList[].ItemTaxWithheldList[].TaxesWithheld[].ChargeAmount',
      'ShipmentItemAdjustmentList[].ItemTaxWithheldList[].TaxesWithheld[].ChargeAmount',
    ),
    net(
      'promotion',
      'ShipmentItemList[].PromotionList[].PromotionAmount',
      'ShipmentItemList[].PromotionAdjustmentList[].PromotionAmount',
      'ShipmentItemAdjustmentList[].PromotionList[].PromotionAmount',
      'ShipmentItemAdjustmentList[].PromotionAdjustmentList[].PromotionAmount',
    ),
    net(
      'points',
      'ShipmentItemList[].CostOfPointsGranted',
      'ShipmentItemList[].CostOfPointsReturned',
      'ShipmentItemAdjustmentList[].CostOfPointsGranted',
      'ShipmentItemAdjustmentList[].CostOfPointsReturned',
    ),
  ),
  EBTRefundReimbursementOnlyEvent: record('PostedDate', ['OrderId'], net('reimbursement', 'Amount')),
  PayWithAmazonEvent: record(
    'TransactionPostedDate',
    ['SellerOrderId'],
    net('charge', 'Charge.ChargeAmount'),
    net('fee', 'FeeList[].FeeAmount'),
  ),
  SolutionProviderCreditEvent: record('TransactionCreationDate', ['SellerOrderId'], net('credit', 'TransactionAmount')),
  RetrochargeEvent: record(
    'PostedDate',
    ['AmazonOrderId'],
    net('tax', 'BaseTax', 'ShippingTax'),
    net('tax_withheld', 'RetrochargeTaxWithheldList[].TaxesWithheld[].ChargeAmount'),
  ),
  RentalTransactionEvent: record(
    'PostedDate',
    ['AmazonOrderId'],
    net('charge', 'RentalChargeList[].ChargeAmount'),
    net('fee', 'RentalFeeList[].FeeAmount'),
    memo('charge', 'RentalInitialValue'),
    net('reimbursement', 'RentalReimbursement'),
    net('tax_withheld', 'RentalTaxWithheldList[].TaxesWithheld[].ChargeAmount'),
  ),
  ProductAdsPaymentEvent: record(
    'postedDate',
    [],
    net('fee', 'baseValue'),
    net('tax', 'taxValue'),
    memo('fee', 'transactionValue'),
  ),
  ServiceFeeEvent: record(undefined, ['AmazonOrderId'], net('fee', 'FeeList[].FeeAmount')),
  SellerDealPaymentEvent: record(
    'postedDate',
    [],
    net('fee', 'feeAmount'),
    net('tax', 'taxAmount'),
    memo('charge', 'totalAmount'),
  ),
  DebtRecoveryEvent: record(
    undefined,
    [],
    net('debt', 'RecoveryAmount', 'OverPaymentCredit'),
    memo(
      'debt',
      'DebtRecoveryItemList[].RecoveryAmount',
      'DebtRecoveryItemList[].OriginalAmount',
      'ChargeInstrumentList[].Amount',
    ),
  ),
  LoanServicingEvent: record(undefined, [], net('loan', 'LoanAmount')),
  AdjustmentEvent: record(
    'PostedDate',
    [],
    net('adjustment', 'AdjustmentAmount'),
    memo('adjustment', 'AdjustmentItemList[].PerUnitAmount', 'AdjustmentItemList[].TotalAmount'),
  ),
  SAFETReimbursementEvent: record(
    'PostedDate',
    [],
    net('reimbursement', 'ReimbursedAmount'),
    memo('charge', 'SAFETReimbursementItemList[].itemChargeList[].ChargeAmount'),
  ),
  SellerReviewEnrollmentPaymentEvent: record(
    'PostedDate',
    [],
    net('fee', 'FeeComponent.FeeAmount'),
    net('charge', 'ChargeComponent.ChargeAmount'),
    memo('charge', 'TotalAmount'),
  ),
  FBALiquidationEvent: record(
    'PostedDate',
    ['OriginalRemovalOrderId'],
    net('charge', 'LiquidationProceedsAmount'),
    net('fee', 'LiquidationFeeAmount'),
  ),
  CouponPaymentEvent: record(
    'PostedDate',
    [],
    net('fee', 'FeeComponent.FeeAmount'),
    net('charge', 'ChargeComponent.ChargeAmount'),
    memo('charge', 'TotalAmount'),
  ),
  ImagingServicesFeeEvent: record('PostedDate', [], net('fee', 'FeeList[].FeeAmount')),
  NetworkComminglingTransactionEvent: record('PostedDate', [], net('tax', 'TaxExclusiveAmount', 'TaxAmount')),
  AffordabilityExpenseEvent: record(
    'PostedDate',
    ['AmazonOrderId'],
    net('fee', 'BaseExpense'),
    net('tax', 'TaxTypeCGST', 'TaxTypeSGST', 'TaxTypeIGST'),
    memo('charge', 'TotalExpense'),
  ),
  RemovalShipmentEvent: record(
    'PostedDate',
    ['MerchantOrderId', 'OrderId'],
    net('charge', 'RemovalShipmentItemList[].Revenue'),
    net('fee', 'RemovalShipmentItemList[].FeeAmount'),
    net('tax', 'RemovalShipmentItemList[].TaxAmount'),
    net('tax_withheld', 'RemovalShipmentItemList[].TaxWithheld'),
  ),
  RemovalShipmentAdjustmentEvent: record(
    'PostedDate',
    ['MerchantOrderId', 'OrderId'],
    net('charge', 'RemovalShipmentItemAdjustmentList[].RevenueAdjustment'),
    net('tax', 'RemovalShipmentItemAdjustmentList[].TaxAmountAdjustment'),
    net('tax_withheld', 'RemovalShipmentItemAdjustmentList[].TaxWithheldAdjustment'),
  ),
  TrialShipmentEvent: record('PostedDate', ['AmazonOrderId'], net('fee', 'FeeList[].FeeAmount')),
  TDSReimbursementEvent: record('PostedDate', ['TDSOrderId'], net('reimbursement', 'ReimbursedAmount')),
  AdhocDisbursementEvent: record('PostedDate', [], net('disbursement', 'TransactionAmount')),
  TaxWithholdingEvent: record('PostedDate', [], memo('charge', 'BaseAmount'), net('tax_withheld', 'WithheldAmount')),
  ChargeRefundEvent: record('PostedDate', [], net('charge', 'ChargeRefundTransactions[].ChargeAmount')),
  FailedAdhocDisbursementEvent: record('PostedDate', [], net('disbursement', 'TransferAmount')),
  ValueAddedServiceChargeEvent: record('PostedDate', [], net('fee', 'TransactionAmount')),
  CapacityReservationBillingEvent: record('PostedDate', [], net('fee', 'TransactionAmount')),
} as const satisfies Record<string, EventRecord>;

export type RecordName = keyof typeof records;

/** The 34 lists in the order of the model, each with its record type. */
export const eventLists = {
  ShipmentEventList: 'ShipmentEvent',
  ShipmentSettleEventList: 'ShipmentEvent',
  RefundEventList: 'ShipmentEvent',
  GuaranteeClaimEventList: 'ShipmentEvent',
  EBTRefundReimbursementOnlyEventList: 'EBTRefundReimbursementOnlyEvent',
  ChargebackEventList: 'ShipmentEvent',
  PayWithAmazonEventList: 'PayWithAmazonEvent',
  ServiceProviderCreditEventList: 'SolutionProviderCreditEvent',
  RetrochargeEventList: 'RetrochargeEvent',
  RentalTransactionEventList: 'RentalTransactionEvent',
  ProductAdsPaymentEventList: 'ProductAdsPaymentEvent',
  ServiceFeeEventList: 'ServiceFeeEvent',
  SellerDealPaymentEventList: 'SellerDealPaymentEvent',
  DebtRecoveryEventList: 'DebtRecoveryEvent',
  LoanServicingEventList: 'LoanServicingEvent',
  AdjustmentEventList: 'AdjustmentEvent',
  SAFETReimbursementEventList: 'SAFETReimbursementEvent',
  SellerReviewEnrollmentPaymentEventList: 'SellerReviewEnrollmentPaymentEvent',
  FBALiquidationEventList: 'FBALiquidationEvent',
  CouponPaymentEventList: 'CouponPaymentEvent',
  ImagingServicesFeeEventList: 'ImagingServicesFeeEvent',
  NetworkComminglingTransactionEventList: 'NetworkComminglingTransactionEvent',
  AffordabilityExpenseEventList: 'AffordabilityExpenseEvent',
  AffordabilityExpenseReversalEventList: 'AffordabilityExpenseEvent',
  RemovalShipmentEventList: 'RemovalShipmentEvent',
  RemovalShipmentAdjustmentEventList: 'RemovalShipmentAdjustmentEvent',
  TrialShipmentEventList: 'TrialShipmentEvent',
  TDSReimbursementEventList: 'TDSReimbursementEvent',
  AdhocDisbursementEventList: 'AdhocDisbursementEvent',
  TaxWithholdingEventList: 'TaxWithholdingEvent',
  ChargeRefundEventList: 'ChargeRefundEvent',
  FailedAdhocDisbursementEventList: 'FailedAdhocDisbursementEvent',
  ValueAddedServiceChargeEventList: 'ValueAddedServiceChargeEvent',
  CapacityReservationBillingEventList: 'CapacityReservationBillingEvent',
} as const satisfies Record<string, RecordName>;

export type EventListName = keyof typeof eventLists;

/** The record type of a list; undefined for a list that isn't in the model. */
export function recordOf(list: string): EventRecord | undefined {
  return Object.hasOwn(eventLists, list) ? records[eventLists[list as EventListName]] : undefined;
}
