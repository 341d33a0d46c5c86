import { byTurn, mostly, price, share, type Writer } from './booking.js';
import { charge, fee, fees } from './event-writer.js';
import type { NonEmpty } from './seeded-random.js';
import { descriptions, products } from './catalogue.js';

/** Fees that say nothing but their amount, of which there are few. */
const flatFees: NonEmpty<readonly [type: string, cents: number]> = [
  ['Subscription', 3999],
  ['FBAInboundTransportationFee', 2500],
  ['FBADisposalFee', 104],
  ['FBARemovalFee', 52],
];

/** Fees without a date: flat ones, those of an order, and those of a product. */
export const serviceFee: Writer = (booking, draft) => {
  const { draw, market, nth } = booking;
  if (nth < 2) {
    const [type, cents] = draw.pick(flatFees);
    draft.text('FeeReason', 'Flat fee');
    fees(draft, 'FeeList', [[type, -cents * market.level * market.unit]]);
    return;
  }
  const isOfOrder = nth < 4;
  const product = draw.pick(products);
  if (isOfOrder) draft.order('AmazonOrderId', booking.order);
  draft.text('FeeReason', isOfOrder ? 'Easy Ship shipping label' : 'Storage');
  fees(draft, 'FeeList', [
    [isOfOrder ? 'EasyShipFee' : 'FBAStorageFee', draw.once(8) ? -draw.between(1, 999_999) : -price(booking, 5, 2000)],
    ...(draw.once(3) ? ([['FBAStorageFeeTax', -price(booking, 0, 99)]] as const) : []),
  ]);
  if (!isOfOrder || draw.once(2)) {
    draft.words('SellerSKU', product.sku);
    draft.text('FnSKU', product.fnSku);
    draft.text('ASIN', product.asin);
  }
  if (!draw.once(4)) draft.words('FeeDescription', draw.pick(descriptions.fee));
  if (draw.once(2)) draft.words('StoreName', draw.pick(market.stores));
};

export const productAds: Writer = (booking, draft) => {
  const type = booking.draw.once(6) ? 'refund' : 'charge';
  const base = (type === 'charge' ? -1 : 1) * price(booking, 100, 50_000);
  const tax = booking.draw.once(2) ? share(booking, base, 16) : 0;
  draft.instant('postedDate', booking.at);
  draft.text('transactionType', type);
  draft.text('invoiceId', `${booking.draw.code(10)}-${booking.draw.between(1, 9)}`);
  draft.net('baseValue', base);
  draft.net('taxValue', tax);
  draft.memo('transactionValue', base + tax);
};

export const sellerDeal: Writer = (booking, draft) => {
  const amount = -price(booking, 3000, 50_000);
  const tax = share(booking, amount, 7);
  draft.instant('postedDate', booking.at);
  draft.text('dealId', `${booking.draw.code(8)}-deal`);
  if (mostly(booking, 0)) draft.words('dealDescription', booking.draw.pick(descriptions.deal));
  draft.text('eventType', 'SellerDealComplete');
  draft.text('feeType', 'RunLightningDealFee');
  draft.net('feeAmount', amount);
  draft.net('taxAmount', tax);
  draft.memo('totalAmount', amount + tax);
};

export const reviewEnrollment: Writer = (booking, draft) => {
  const feeAmount = -price(booking, 1000, 6000);
  const chargeAmount = mostly(booking, 2) ? 0 : -price(booking, 10, 500);
  draft.instant('PostedDate', booking.at);
  draft.text('EnrollmentId', booking.draw.digits(13));
  if (mostly(booking, 0)) draft.text('ParentASIN', booking.draw.pick(products).asin);
  fee(draft, 'FeeComponent', 'SellerReviewEnrollmentPayment', feeAmount);
  charge(draft, 'ChargeComponent', 'Tax', chargeAmount);
  draft.memo('TotalAmount', feeAmount + chargeAmount);
};

/** Counts that a double can't tell apart come by turns. */
const counts = ['0', '17', '4294967296', '9007199254740993', '9223372036854775807', '385'] as const;

export const couponPayment: Writer = (booking, draft) => {
  const { draw } = booking;
  const feeAmount = -price(booking, 60, 9000);
  const chargeAmount = draw.once(2) ? share(booking, feeAmount, 7) : 0;
  draft.instant('PostedDate', booking.at);
  draft.text('CouponId', draw.code(12));
  if (!draw.once(4)) draft.words('SellerCouponDescription', draw.pick(descriptions.coupon));
  draft.number('ClipOrRedemptionCount', byTurn(booking, counts));
  draft.text('PaymentEventId', `${draw.code(8)}/${draw.digits(4)}`);
  fee(draft, 'FeeComponent', 'CouponRedemptionFee', feeAmount);
  charge(draft, 'ChargeComponent', 'Tax', chargeAmount);
  draft.memo('TotalAmount', feeAmount + chargeAmount);
};

export const imagingServices: Writer = (booking, draft) => {
  draft.text('ImagingRequestBillingItemID', `${booking.draw.code(8)}-${booking.draw.code(4)}`);
  if (mostly(booking, 0)) draft.text('ASIN', booking.draw.pick(products).asin);
  draft.instant('PostedDate', booking.at);
  fees(draft, 'FeeList', [['ImagingServicesFee', -price(booking, 2000, 9000)]]);
};

export const valueAddedService: Writer = (booking, draft) => {
  draft.text('TransactionType', 'Other Support Service fees');
  draft.instant('PostedDate', booking.at);
  if (mostly(booking, 0)) draft.words('Description', booking.draw.pick(descriptions.service));
  draft.net('TransactionAmount', -price(booking, 1000, 40_000));
};

export const capacityReservation: Writer = (booking, draft) => {
  draft.text('TransactionType', 'FBA Inventory Fee');
  draft.instant('PostedDate', booking.at);
  if (mostly(booking, 0)) draft.words('Description', booking.draw.pick(descriptions.capacity));
  draft.net('TransactionAmount', -price(booking, 500, 20_000));
};
