import type { EventListName } from '../../sources/finances/api-v0/event-records.js';
import {
  elements,
  type EventContext,
  byTurn,
  charge,
  charges,
  type EventSink,
  fees,
  millionthsOf,
  mostly,
  price,
  share,
  taxWithheld,
  type EventWriter,
} from './event-writer.js';

const rentalTypes = [
  'RentalCustomerPayment-Buyout',
  'RentalCustomerPayment-Extension',
  'RentalCustomerRefund-Buyout',
  'RentalCustomerRefund-Extension',
  'RentalHandlingFee',
  'RentalChargeFailureReimbursement',
  'RentalLostItemReimbursement',
] as const;

/** A share of the cost of an instalment plan; its reversal refunds it. */
function affordability(type: 'Charge' | 'Refund'): EventWriter {
  const sign = type === 'Charge' ? -1 : 1;
  return (context, sink) => {
    const base = sign * price(context, 'affordability');
    const isLocal = context.draw.oneIn(2);
    const local = isLocal ? share(context, base, 9) : 0;
    const integrated = isLocal ? 0 : share(context, base, 18);
    sink.order('AmazonOrderId', context.order);
    sink.instant('PostedDate', context.at);
    if (mostly(context, 0)) sink.text('MarketplaceId', context.marketplace.id);
    sink.text('TransactionType', type);
    sink.net('BaseExpense', base);
    sink.net('TaxTypeCGST', local);
    sink.net('TaxTypeSGST', local);
    sink.net('TaxTypeIGST', integrated);
    sink.memo('TotalExpense', base + local + local + integrated);
  };
}

function merchantOrderId(order: number): string {
  return `RM-${order.toString(36).toUpperCase()}`;
}

function itemHead({ draw, profile }: EventContext, sink: EventSink, facilitated: boolean): void {
  sink.text('RemovalShipmentItemId', draw.digits(11));
  sink.text('TaxCollectionModel', facilitated ? 'MarketplaceFacilitator' : 'Standard');
  sink.text('FulfillmentNetworkSKU', draw.pick(profile.products).fnSku);
}

export const orderWriters = {
  /** Reimburses a refund of an order that was paid with food stamps (EBT). */
  EBTRefundReimbursementOnlyEventList: (context, sink) => {
    sink.order('OrderId', context.order);
    sink.instant('PostedDate', context.at);
    sink.net('Amount', price(context, 'ebtRefund'));
  },
  PayWithAmazonEventList: (context, sink) => {
    const { draw, marketplace } = context;
    const amount = price(context, 'payWithAmazon');
    sink.text('SellerOrderId', `P01-${draw.digits(7)}-${draw.digits(7)}`);
    sink.instant('TransactionPostedDate', context.at);
    if (mostly(context, 0)) sink.text('BusinessObjectType', 'PaymentContract');
    if (mostly(context, 1)) sink.text('SalesChannel', `shop.example.${marketplace.country.toLowerCase()}`);
    charge(sink, 'Charge', 'Principal', amount);
    fees(sink, 'FeeList', [
      ['PayWithAmazonDomesticTransactionFee', share(context, -amount, 3)],
      ['PayWithAmazonAuthorizationFee', -millionthsOf(context, 30)],
    ]);
    if (mostly(context, 2)) sink.text('PaymentAmountType', 'Sales');
    if (mostly(context, 3)) sink.words('AmountDescription', draw.pick(context.profile.descriptions.payment));
    sink.text('FulfillmentChannel', byTurn(context, ['MFN', 'AFN']));
    if (mostly(context, 0)) sink.words('StoreName', draw.pick(marketplace.stores));
  },
  ServiceProviderCreditEventList: (context, sink) => {
    const { draw, marketplace } = context;
    if (mostly(context, 0)) sink.text('ProviderTransactionType', 'SolutionProviderCredit');
    sink.text('SellerOrderId', `SP-${draw.digits(9)}`);
    sink.text('MarketplaceId', marketplace.id);
    sink.text('MarketplaceCountryCode', marketplace.country);
    if (mostly(context, 1)) sink.text('SellerId', `A${draw.code(12)}`);
    sink.words('SellerStoreName', draw.pick(marketplace.stores));
    if (mostly(context, 2)) sink.text('ProviderId', `A${draw.code(12)}`);
    if (mostly(context, 3)) sink.words('ProviderStoreName', draw.pick(context.profile.descriptions.provider));
    sink.net('TransactionAmount', price(context, 'providerCredit'));
    sink.instant('TransactionCreationDate', context.at);
  },
  /** Tax that was charged later, or returned. */
  RetrochargeEventList: (context, sink) => {
    const type = byTurn(context, ['Retrocharge', 'RetrochargeReversal']);
    const sign = type === 'Retrocharge' ? -1 : 1;
    const baseTax = sign * price(context, 'retrocharge');
    const shippingTax = sign * price(context, 'retrochargeShipping');
    sink.text('RetrochargeEventType', type);
    sink.order('AmazonOrderId', context.order);
    sink.instant('PostedDate', context.at);
    sink.net('BaseTax', baseTax);
    sink.net('ShippingTax', shippingTax);
    if (mostly(context, 1)) sink.text('MarketplaceName', context.marketplace.name);
    if (mostly(context, 2)) {
      taxWithheld(sink, 'RetrochargeTaxWithheldList', mostly(context, 3), [
        ['MarketplaceFacilitatorTax-Principal', -baseTax],
        ['MarketplaceFacilitatorTax-Shipping', -shippingTax],
      ]);
    }
  },
  RentalTransactionEventList: (context, sink) => {
    const type = byTurn(context, rentalTypes);
    sink.order('AmazonOrderId', context.order);
    sink.text('RentalEventType', type);
    if (type.endsWith('Extension')) sink.number('ExtensionLength', context.draw.between(7, 60));
    sink.instant('PostedDate', context.at);
    if (type.startsWith('RentalCustomer')) {
      const amount = (type.includes('Refund') ? -1 : 1) * price(context, 'rental');
      const tax = share(context, amount, 8);
      charges(sink, 'RentalChargeList', [
        ['Principal', amount],
        ['Tax', tax],
      ]);
      fees(sink, 'RentalFeeList', [['Commission', share(context, -amount, 15)]]);
      sink.text('MarketplaceName', context.marketplace.name);
      taxWithheld(sink, 'RentalTaxWithheldList', true, [['MarketplaceFacilitatorTax-Principal', -tax]]);
    } else if (type === 'RentalHandlingFee') {
      charges(sink, 'RentalChargeList', []);
      fees(sink, 'RentalFeeList', [['RentalHandlingFee', -price(context, 'rentalHandling')]]);
    } else {
      sink.text('MarketplaceName', context.marketplace.name);
      sink.memo('RentalInitialValue', price(context, 'rentalValue'));
      sink.net('RentalReimbursement', price(context, 'rentalReimbursement'));
    }
  },
  AffordabilityExpenseEventList: affordability('Charge'),
  AffordabilityExpenseReversalEventList: affordability('Refund'),
  /** A shipment that the buyer tries before paying: it has fees only. */
  TrialShipmentEventList: (context, sink) => {
    sink.order('AmazonOrderId', context.order);
    sink.text('FinancialEventGroupId', context.groupIdOf(context.period()));
    sink.instant('PostedDate', context.at);
    sink.words('SKU', context.draw.pick(context.profile.products).sku);
    fees(sink, 'FeeList', [
      ['FBAPerUnitFulfillmentFee', -price(context, 'trialFulfilment')],
      ['FBATransportationFee', -price(context, 'trialTransport')],
    ]);
  },
  TDSReimbursementEventList: (context, sink) => {
    sink.instant('PostedDate', context.at);
    sink.order('TDSOrderId', context.order);
    sink.net('ReimbursedAmount', price(context, 'tds'));
  },
  /** Stock that was liquidated in bulk. */
  RemovalShipmentEventList: (context, sink) => {
    const { draw } = context;
    sink.instant('PostedDate', context.at);
    if (mostly(context, 0)) sink.text('MerchantOrderId', merchantOrderId(context.order));
    sink.order('OrderId', context.order);
    sink.text('TransactionType', 'WHOLESALE_LIQUIDATION');
    if (mostly(context, 1)) sink.words('StoreName', draw.pick(context.marketplace.stores));
    elements(sink, 'RemovalShipmentItemList', Array.from({ length: draw.between(1, 3) }), () => {
      const facilitated = draw.oneIn(2);
      const revenue = price(context, 'removal');
      const tax = share(context, revenue, 8);
      itemHead(context, sink, facilitated);
      sink.number('Quantity', draw.between(1, 40));
      sink.net('Revenue', revenue);
      sink.net('FeeAmount', share(context, -revenue, 15));
      sink.net('TaxAmount', tax);
      sink.net('TaxWithheld', facilitated ? -tax : 0);
    });
  },
  /** An adjustment after a bulk buyer's dispute. */
  RemovalShipmentAdjustmentEventList: (context, sink) => {
    const { draw } = context;
    const facilitated = draw.oneIn(2);
    const revenue = -price(context, 'removalAdjustment');
    const tax = share(context, revenue, 8);
    sink.instant('PostedDate', context.at);
    sink.text('AdjustmentEventId', `ADJ${draw.digits(12)}`);
    if (mostly(context, 0)) sink.text('MerchantOrderId', merchantOrderId(context.order));
    sink.order('OrderId', context.order);
    sink.text('TransactionType', 'WHOLESALE_LIQUIDATION');
    elements(sink, 'RemovalShipmentItemAdjustmentList', [revenue], () => {
      itemHead(context, sink, facilitated);
      sink.number('AdjustedQuantity', draw.between(1, 5));
      sink.net('RevenueAdjustment', revenue);
      sink.net('TaxAmountAdjustment', tax);
      sink.net('TaxWithheldAdjustment', facilitated ? -tax : 0);
    });
  },
  FBALiquidationEventList: (context, sink) => {
    const proceeds = price(context, 'liquidation');
    sink.instant('PostedDate', context.at);
    sink.order('OriginalRemovalOrderId', context.order);
    sink.net('LiquidationProceedsAmount', proceeds);
    sink.net('LiquidationFeeAmount', share(context, -proceeds, 20));
  },
} satisfies Partial<Record<EventListName, EventWriter>>;
