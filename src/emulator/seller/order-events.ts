import { byTurn, mostly, price, share, type Writer } from './booking.js';
import { charge, charges, fees, taxWithheld } from './event-writer.js';
import { descriptions, products } from './catalogue.js';

/** A reimbursement of a refund that was paid with food stamps. */
export const ebtRefund: Writer = (booking, draft) => {
  draft.order('OrderId', booking.order);
  draft.instant('PostedDate', booking.at);
  draft.net('Amount', price(booking, 100, 4000));
};

export const payWithAmazon: Writer = (booking, draft) => {
  const { draw, market } = booking;
  const amount = price(booking, 500, 20_000);
  draft.text('SellerOrderId', `P01-${draw.digits(7)}-${draw.digits(7)}`);
  draft.instant('TransactionPostedDate', booking.at);
  if (mostly(booking, 0)) draft.text('BusinessObjectType', 'PaymentContract');
  if (mostly(booking, 1)) draft.text('SalesChannel', `shop.example.${market.country.toLowerCase()}`);
  charge(draft, 'Charge', 'Principal', amount);
  fees(draft, 'FeeList', [
    ['PayWithAmazonDomesticTransactionFee', share(booking, -amount, 3)],
    ['PayWithAmazonAuthorizationFee', -30 * market.level * market.unit],
  ]);
  if (mostly(booking, 2)) draft.text('PaymentAmountType', 'Sales');
  if (mostly(booking, 3)) draft.words('AmountDescription', draw.pick(descriptions.payment));
  draft.text('FulfillmentChannel', byTurn(booking, ['MFN', 'AFN']));
  if (mostly(booking, 0)) draft.words('StoreName', draw.pick(market.stores));
};

export const providerCredit: Writer = (booking, draft) => {
  const { draw, market } = booking;
  if (mostly(booking, 0)) draft.text('ProviderTransactionType', 'SolutionProviderCredit');
  draft.text('SellerOrderId', `SP-${draw.digits(9)}`);
  draft.text('MarketplaceId', market.id);
  draft.text('MarketplaceCountryCode', market.country);
  if (mostly(booking, 1)) draft.text('SellerId', `A${draw.code(12)}`);
  draft.words('SellerStoreName', draw.pick(market.stores));
  if (mostly(booking, 2)) draft.text('ProviderId', `A${draw.code(12)}`);
  if (mostly(booking, 3)) draft.words('ProviderStoreName', draw.pick(descriptions.provider));
  draft.net('TransactionAmount', price(booking, 100, 5000));
  draft.instant('TransactionCreationDate', booking.at);
};

/** Tax that was charged too late, or given back. */
export const retrocharge: Writer = (booking, draft) => {
  const type = byTurn(booking, ['Retrocharge', 'RetrochargeReversal']);
  const sign = type === 'Retrocharge' ? -1 : 1;
  const baseTax = sign * price(booking, 10, 900);
  const shippingTax = sign * price(booking, 0, 90);
  draft.text('RetrochargeEventType', type);
  draft.order('AmazonOrderId', booking.order);
  draft.instant('PostedDate', booking.at);
  draft.net('BaseTax', baseTax);
  draft.net('ShippingTax', shippingTax);
  if (mostly(booking, 1)) draft.text('MarketplaceName', booking.market.name);
  if (mostly(booking, 2)) {
    taxWithheld(draft, 'RetrochargeTaxWithheldList', mostly(booking, 3), [
      ['MarketplaceFacilitatorTax-Principal', -baseTax],
      ['MarketplaceFacilitatorTax-Shipping', -shippingTax],
    ]);
  }
};

const rentalTypes = [
  'RentalCustomerPayment-Buyout',
  'RentalCustomerPayment-Extension',
  'RentalCustomerRefund-Buyout',
  'RentalCustomerRefund-Extension',
  'RentalHandlingFee',
  'RentalChargeFailureReimbursement',
  'RentalLostItemReimbursement',
] as const;

export const rental: Writer = (booking, draft) => {
  const type = byTurn(booking, rentalTypes);
  draft.order('AmazonOrderId', booking.order);
  draft.text('RentalEventType', type);
  if (type.endsWith('Extension')) draft.number('ExtensionLength', booking.draw.between(7, 60));
  draft.instant('PostedDate', booking.at);
  if (type.startsWith('RentalCustomer')) {
    const amount = (type.includes('Refund') ? -1 : 1) * price(booking, 1000, 9000);
    const tax = share(booking, amount, 8);
    charges(draft, 'RentalChargeList', [
      ['Principal', amount],
      ['Tax', tax],
    ]);
    fees(draft, 'RentalFeeList', [['Commission', share(booking, -amount, 15)]]);
    draft.text('MarketplaceName', booking.market.name);
    taxWithheld(draft, 'RentalTaxWithheldList', true, [['MarketplaceFacilitatorTax-Principal', -tax]]);
  } else if (type === 'RentalHandlingFee') {
    charges(draft, 'RentalChargeList', []);
    fees(draft, 'RentalFeeList', [['RentalHandlingFee', -price(booking, 100, 500)]]);
  } else {
    draft.text('MarketplaceName', booking.market.name);
    draft.memo('RentalInitialValue', price(booking, 2000, 9000));
    draft.net('RentalReimbursement', price(booking, 1000, 9000));
  }
};

/** A share of an instalment plan's cost; its reversal gives it back. */
function affordability(type: 'Charge' | 'Refund'): Writer {
  const sign = type === 'Charge' ? -1 : 1;
  return (booking, draft) => {
    const base = sign * price(booking, 100, 3000);
    const isLocal = booking.draw.once(2);
    const local = isLocal ? share(booking, base, 9) : 0;
    const integrated = isLocal ? 0 : share(booking, base, 18);
    draft.order('AmazonOrderId', booking.order);
    draft.instant('PostedDate', booking.at);
    if (mostly(booking, 0)) draft.text('MarketplaceId', booking.market.id);
    draft.text('TransactionType', type);
    draft.net('BaseExpense', base);
    draft.net('TaxTypeCGST', local);
    draft.net('TaxTypeSGST', local);
    draft.net('TaxTypeIGST', integrated);
    draft.memo('TotalExpense', base + local + local + integrated);
  };
}

export const affordabilityExpense = affordability('Charge');
export const affordabilityReversal = affordability('Refund');

/** A shipment that the buyer may try first: only its fees count. */
export const trialShipment: Writer = (booking, draft) => {
  draft.order('AmazonOrderId', booking.order);
  draft.text('FinancialEventGroupId', booking.groupIdOf(booking.period()));
  draft.instant('PostedDate', booking.at);
  draft.words('SKU', booking.draw.pick(products).sku);
  fees(draft, 'FeeList', [
    ['FBAPerUnitFulfillmentFee', -price(booking, 200, 900)],
    ['FBATransportationFee', -price(booking, 10, 90)],
  ]);
};

export const tdsReimbursement: Writer = (booking, draft) => {
  draft.instant('PostedDate', booking.at);
  draft.order('TDSOrderId', booking.order);
  draft.net('ReimbursedAmount', price(booking, 10, 900));
};
