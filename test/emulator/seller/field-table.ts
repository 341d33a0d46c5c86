import type { RecordName } from '../../../src/sources/finances/api-v0/event-records.js';

/** What a field holds: text, a whole number, an instant, money, an object, or a list of objects. */
export type Shape = 'text' | 'whole' | 'instant' | 'money' | { readonly [key: string]: Shape } | readonly [Fields];
export type Fields = Readonly<Record<string, Shape>>;

const text = (...names: string[]): Fields => Object.fromEntries(names.map((name) => [name, 'text']));
const money = (...names: string[]): Fields => Object.fromEntries(names.map((name) => [name, 'money']));
const posted: Fields = { PostedDate: 'instant' };

const charge: Fields = { ChargeType: 'text', ChargeAmount: 'money' };
const fee: Fields = { FeeType: 'text', FeeAmount: 'money' };
const withheld: Fields = { TaxCollectionModel: 'text', TaxesWithheld: [charge] };
const promotion: Fields = { PromotionType: 'text', PromotionId: 'text', PromotionAmount: 'money' };

const shipmentItem: Fields = {
  ...text('SellerSKU', 'OrderItemId', 'OrderAdjustmentItemId'),
  QuantityShipped: 'whole',
  ItemChargeList: [charge],
  ItemChargeAdjustmentList: [charge],
  ItemFeeList: [fee],
  ItemFeeAdjustmentList: [fee],
  ItemTaxWithheldList: [withheld],
  PromotionList: [promotion],
  PromotionAdjustmentList: [promotion],
  ...money('CostOfPointsGranted', 'CostOfPointsReturned'),
};
const total: Fields = { FeeComponent: fee, ChargeComponent: charge, TotalAmount: 'money' };
const removalItem = text('RemovalShipmentItemId', 'TaxCollectionModel', 'FulfillmentNetworkSKU');
const server: Fields = { ...posted, ...text('TransactionType', 'Description'), TransactionAmount: 'money' };

/** Every field of every record of the service's model. */
export const fieldTable: Readonly<Record<RecordName, Fields>> = {
  ShipmentEvent: {
    ...posted,
    ...text('AmazonOrderId', 'SellerOrderId', 'MarketplaceName', 'StoreName'),
    OrderChargeList: [charge],
    OrderChargeAdjustmentList: [charge],
    ShipmentFeeList: [fee],
    ShipmentFeeAdjustmentList: [fee],
    OrderFeeList: [fee],
    OrderFeeAdjustmentList: [fee],
    DirectPaymentList: [{ DirectPaymentType: 'text', DirectPaymentAmount: 'money' }],
    ShipmentItemList: [shipmentItem],
    ShipmentItemAdjustmentList: [shipmentItem],
  },
  EBTRefundReimbursementOnlyEvent: { ...posted, OrderId: 'text', Amount: 'money' },
  PayWithAmazonEvent: {
    ...text('SellerOrderId', 'BusinessObjectType', 'SalesChannel', 'PaymentAmountType', 'AmountDescription'),
    ...text('FulfillmentChannel', 'StoreName'),
    TransactionPostedDate: 'instant',
    Charge: charge,
    FeeList: [fee],
  },
  SolutionProviderCreditEvent: {
    ...text('ProviderTransactionType', 'SellerOrderId', 'MarketplaceId', 'MarketplaceCountryCode', 'SellerId'),
    ...text('SellerStoreName', 'ProviderId', 'ProviderStoreName'),
    TransactionAmount: 'money',
    TransactionCreationDate: 'instant',
  },
  RetrochargeEvent: {
    ...posted,
    ...text('RetrochargeEventType', 'AmazonOrderId', 'MarketplaceName'),
    ...money('BaseTax', 'ShippingTax'),
    RetrochargeTaxWithheldList: [withheld],
  },
  RentalTransactionEvent: {
    ...posted,
    ...text('AmazonOrderId', 'RentalEventType', 'MarketplaceName'),
    ExtensionLength: 'whole',
    RentalChargeList: [charge],
    RentalFeeList: [fee],
    ...money('RentalInitialValue', 'RentalReimbursement'),
    RentalTaxWithheldList: [withheld],
  },
  ProductAdsPaymentEvent: {
    postedDate: 'instant',
    ...text('transactionType', 'invoiceId'),
    ...money('baseValue', 'taxValue', 'transactionValue'),
  },
  ServiceFeeEvent: {
    ...text('AmazonOrderId', 'FeeReason', 'SellerSKU', 'FnSKU', 'FeeDescription', 'ASIN', 'StoreName'),
    FeeList: [fee],
  },
  SellerDealPaymentEvent: {
    postedDate: 'instant',
    ...text('dealId', 'dealDescription', 'eventType', 'feeType'),
    ...money('feeAmount', 'taxAmount', 'totalAmount'),
  },
  DebtRecoveryEvent: {
    DebtRecoveryType: 'text',
    ...money('RecoveryAmount', 'OverPaymentCredit'),
    DebtRecoveryItemList: [
      { ...money('RecoveryAmount', 'OriginalAmount'), GroupBeginDate: 'instant', GroupEndDate: 'instant' },
    ],
    ChargeInstrumentList: [{ ...text('Description', 'Tail'), Amount: 'money' }],
  },
  LoanServicingEvent: { LoanAmount: 'money', SourceBusinessEventType: 'text' },
  AdjustmentEvent: {
    ...posted,
    ...text('AdjustmentType', 'StoreName'),
    AdjustmentAmount: 'money',
    AdjustmentItemList: [
      {
        ...text('Quantity', 'SellerSKU', 'FnSKU', 'ProductDescription', 'ASIN', 'TransactionNumber'),
        ...money('PerUnitAmount', 'TotalAmount'),
      },
    ],
  },
  SAFETReimbursementEvent: {
    ...posted,
    ...text('SAFETClaimId', 'ReasonCode'),
    ReimbursedAmount: 'money',
    SAFETReimbursementItemList: [{ itemChargeList: [charge], ...text('productDescription', 'quantity') }],
  },
  SellerReviewEnrollmentPaymentEvent: { ...posted, ...text('EnrollmentId', 'ParentASIN'), ...total },
  FBALiquidationEvent: {
    ...posted,
    OriginalRemovalOrderId: 'text',
    ...money('LiquidationProceedsAmount', 'LiquidationFeeAmount'),
  },
  CouponPaymentEvent: {
    ...posted,
    ...text('CouponId', 'SellerCouponDescription', 'PaymentEventId'),
    ClipOrRedemptionCount: 'whole',
    ...total,
  },
  ImagingServicesFeeEvent: { ...posted, ...text('ImagingRequestBillingItemID', 'ASIN'), FeeList: [fee] },
  NetworkComminglingTransactionEvent: {
    ...posted,
    ...text('TransactionType', 'NetCoTransactionID', 'SwapReason', 'ASIN', 'MarketplaceId'),
    ...money('TaxExclusiveAmount', 'TaxAmount'),
  },
  AffordabilityExpenseEvent: {
    ...posted,
    ...text('AmazonOrderId', 'MarketplaceId', 'TransactionType'),
    ...money('BaseExpense', 'TaxTypeCGST', 'TaxTypeSGST', 'TaxTypeIGST', 'TotalExpense'),
  },
  RemovalShipmentEvent: {
    ...posted,
    ...text('MerchantOrderId', 'OrderId', 'TransactionType', 'StoreName'),
    RemovalShipmentItemList: [
      { ...removalItem, Quantity: 'whole', ...money('Revenue', 'FeeAmount', 'TaxAmount', 'TaxWithheld') },
    ],
  },
  RemovalShipmentAdjustmentEvent: {
    ...posted,
    ...text('AdjustmentEventId', 'MerchantOrderId', 'OrderId', 'TransactionType'),
    RemovalShipmentItemAdjustmentList: [
      {
        ...removalItem,
        AdjustedQuantity: 'whole',
        ...money('RevenueAdjustment', 'TaxAmountAdjustment', 'TaxWithheldAdjustment'),
      },
    ],
  },
  TrialShipmentEvent: { ...posted, ...text('AmazonOrderId', 'FinancialEventGroupId', 'SKU'), FeeList: [fee] },
  TDSReimbursementEvent: { ...posted, TDSOrderId: 'text', ReimbursedAmount: 'money' },
  AdhocDisbursementEvent: { ...posted, ...text('TransactionType', 'TransactionId'), TransactionAmount: 'money' },
  TaxWithholdingEvent: {
    ...posted,
    ...money('BaseAmount', 'WithheldAmount'),
    TaxWithholdingPeriod: { StartDate: 'instant', EndDate: 'instant' },
  },
  ChargeRefundEvent: {
    ...posted,
    ...text('ReasonCode', 'ReasonCodeDescription'),
    ChargeRefundTransactions: [charge],
  },
  FailedAdhocDisbursementEvent: {
    ...posted,
    ...text('FundsTransfersType', 'TransferId', 'DisbursementId', 'PaymentDisbursementType', 'Status'),
    TransferAmount: 'money',
  },
  ValueAddedServiceChargeEvent: server,
  CapacityReservationBillingEvent: server,
};

export const groupFields: Fields = {
  ...text('FinancialEventGroupId', 'ProcessingStatus', 'FundTransferStatus', 'TraceId', 'AccountTail'),
  ...money('OriginalTotal', 'ConvertedTotal', 'BeginningBalance'),
  FundTransferDate: 'instant',
  FinancialEventGroupStart: 'instant',
  FinancialEventGroupEnd: 'instant',
};

/** The paths of the fields that hold no others, each with what it holds: `FeeList[].FeeAmount money`. */
export function pathsOf(fields: Fields, parent = ''): string[] {
  return Object.entries(fields).flatMap(([name, shape]) => {
    const path = `${parent}${name}`;
    if (typeof shape === 'string') return [`${path} ${shape}`];
    return Array.isArray(shape) ? pathsOf(shape[0] as Fields, `${path}[].`) : pathsOf(shape as Fields, `${path}.`);
  });
}
