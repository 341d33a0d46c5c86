import { dayMs } from '../../core/windows.js';
import type { EventListName } from '../../sources/finances/api-v0/event-records.js';
import { type Draw, inTurn, type NonEmpty } from './seeded-random.js';
import {
  onceEach,
  marketplaceIn,
  percent,
  type EventDensity,
  type LoanEvent,
  type SellerMarketplace,
  type Order,
  type OrderItem,
  type Product,
  type Profile,
  type Spellings,
} from './seller-profile.js';

/** A marketplace with its taxes and prices. */
interface PricedMarketplace extends SellerMarketplace {
  /** Number of orders in 64. */
  readonly share: number;
  /** Tax rates, per cent of the price. */
  readonly taxRates: NonEmpty<number>;
  /** Whether the marketplace withholds the tax and remits it. */
  readonly facilitated: boolean;
  /** Digital services fee, per cent of the other fees. */
  readonly digitalServices: number;
  /** Points granted to the buyer, per cent of the price. */
  readonly points: number;
}

interface Article extends Product {
  /** US dollar cents. */
  readonly price: number;
  /** Referral fee, per cent of the price. */
  readonly referral: number;
  /** Fulfilment fee for one piece, by size and weight, US dollar cents. */
  readonly fulfilment: number;
}

const plain = (text: string): Spellings => [JSON.stringify(text)];

function all(first: string, ...rest: string[]): NonEmpty<Spellings> {
  return [plain(first), ...rest.map(plain)];
}

const commonTerms = { digitalServices: 0, points: 0, facilitated: true } as const;

const marketplaces: NonEmpty<PricedMarketplace> = [
  marketplaceIn('USD', {
    ...commonTerms,
    index: 0,
    level: 1,
    share: 36,
    taxRates: [0, 6, 6, 7, 7, 8, 8, 9],
    stores: all('Northwind Outdoor'),
  }),
  marketplaceIn('CAD', {
    ...commonTerms,
    index: 1,
    level: 1.35,
    share: 6,
    taxRates: [5, 5, 13, 13, 15],
    digitalServices: 3,
    stores: all('Northwind Outdoor Canada'),
  }),
  marketplaceIn('MXN', {
    ...commonTerms,
    index: 2,
    level: 17,
    share: 4,
    taxRates: [16],
    stores: all('Northwind México'),
  }),
  marketplaceIn('GBP', {
    ...commonTerms,
    index: 3,
    level: 0.82,
    share: 7,
    taxRates: [20],
    digitalServices: 2,
    stores: all('Northwind Outdoor UK'),
  }),
  marketplaceIn('EUR', {
    ...commonTerms,
    index: 4,
    level: 0.95,
    share: 7,
    taxRates: [19],
    stores: all('Northwind Outdoor Deutschland'),
  }),
  marketplaceIn('JPY', {
    ...commonTerms,
    index: 5,
    level: 1.4,
    share: 4,
    taxRates: [10],
    facilitated: false,
    points: 2,
    stores: all('ノースウィンド・アウトドア'),
  }),
];
const [american] = marketplaces;
/** The marketplaces of 64 orders. */
const shares = marketplaces.flatMap((marketplace) => Array.from({ length: marketplace.share }, () => marketplace));

/** The lists of events that concern the account and no marketplace. */
const accountLists: ReadonlySet<EventListName> = new Set(['LoanServicingEventList', 'TaxWithholdingEventList']);

type ArticleRow = readonly [code: string, title: string, price: number, referral: number, fulfilment: number];

/** The articles, best sellers first. */
const articleRows: NonEmpty<ArticleRow> = [
  ['MUG-03', 'Enamel camping mug, 0.3 l, set of 2', 2499, 15, 422],
  ['LAMP-USB', 'Rechargeable camping lantern, 400 lm', 3499, 15, 468],
  ['SOCK-M', 'Merino hiking socks, M', 1999, 17, 332],
  ['BOTTLE-1L', 'Insulated steel bottle, 1 l', 3299, 15, 512],
  ['DRYBAG-20', 'Dry bag, 20 l', 2799, 15, 437],
  ['STOVE-GAS', 'Folding gas stove', 3999, 15, 451],
  ['SOCK-L', 'Merino hiking socks, L', 1999, 17, 332],
  ['HEADLAMP', 'Headlamp, 600 lm, USB-C', 4499, 15, 408],
  ['POLE-CF', 'Carbon trekking poles, pair', 7999, 15, 711],
  ['MAT-AIR', 'Inflatable sleeping mat', 5999, 15, 668],
  ['COOKSET', 'Anodised cook set, 4 pieces', 5499, 15, 694],
  ['BAR-NUT', 'Nut bars, 12 pcs', 2899, 8, 489],
  ['SHIRT-M', 'Wool base layer, M', 6499, 17, 437],
  ['SHIRT-L', 'Wool base layer, L', 6499, 17, 437],
  ['POWER-20K', 'Power bank, 20,000 mAh', 4999, 8, 497],
  ['ROPE-8', 'Accessory cord 8 mm, 20 m', 2999, 15, 512],
  ['HAMMOCK', 'Travel hammock with straps', 3799, 15, 529],
  ['TENT-2P', 'Two-person tent', 15_999, 15, 1347],
  ['RADIO', 'Two-way radios, pair', 5799, 8, 477],
  ['KNIFE', 'Folding knife, olive wood', 4299, 15, 391],
  ['CHAIR', 'Folding camp chair', 6999, 15, 1189],
  ['FILTER', 'Water filter', 3999, 15, 399],
  ['GAITER', 'Gaiters, waterproof', 3499, 17, 404],
  ['PACK-45', 'Backpack, 45 l', 11_999, 15, 1126],
];

function articleOf([code, title, price, referral, fulfilment]: ArticleRow, index: number): Article {
  const number = (index + 1) * 104_729 * 7919;
  return {
    sku: plain(`NW-${code}`),
    fnSku: `X00${number.toString(36).toUpperCase().padStart(7, '2').slice(-7)}`,
    asin: `B0${(number * 31).toString(36).toUpperCase().padStart(8, '7').slice(-8)}`,
    title: plain(title),
    price,
    referral,
    fulfilment,
  };
}

const [firstRow, ...otherRows] = articleRows;
const articles: NonEmpty<Article> = [articleOf(firstRow, 0), ...otherRows.map((row, n) => articleOf(row, n + 1))];

/** Draws an article; the smaller of two random positions makes best sellers more frequent. */
function drawArticle(draw: Draw): Article {
  return articles[Math.min(draw.below(articles.length), draw.below(articles.length))] ?? articles[0];
}

/** A usual retail price in the smallest unit of the currency: 24.99, 424.99, 3,480 yen. */
function shelfPrice({ level, scale }: PricedMarketplace, cents: number): number {
  const amount = cents * level;
  return scale === 0 ? Math.round(amount / 100) * 100 - 20 : Math.round(amount / 100) * 100 - 1;
}

function itemOf(
  draw: Draw,
  marketplace: PricedMarketplace,
  taxRate: number,
  isFulfilled: boolean,
  quantity: number,
): OrderItem {
  const article = drawArticle(draw);
  const levelled = (cents: number) => Math.round(cents * marketplace.level);
  const principal = shelfPrice(marketplace, article.price) * quantity;
  const shipping = isFulfilled ? 0 : levelled(draw.pick([499, 599, 799]));
  const giftwrap = draw.oneIn(40) ? levelled(399) : 0;
  // A discount for many, or a sale now and then.
  const discount = quantity > 5 ? 7 : draw.oneIn(9) ? draw.pick([5, 10, 15, 20]) : 0;
  const promotion = -percent(principal, discount);
  const commission = -percent(principal + promotion + shipping, article.referral);
  const fulfilment = isFulfilled ? -levelled(article.fulfilment) * quantity : 0;
  return {
    product: article,
    orderItemId: draw.digits(14),
    quantity,
    principal,
    tax: percent(principal + promotion, taxRate),
    shipping,
    shippingTax: percent(shipping, taxRate),
    giftwrap,
    promotion,
    promotionId: promotion === 0 ? '' : draw.code(10),
    commission,
    fulfilment,
    digitalServices: percent(commission + fulfilment, marketplace.digitalServices),
    points: -percent(principal, marketplace.points),
  };
}

/** Draws an order: mostly one article for a household; one order in 150 is a company's. */
function drawOrder(draw: Draw, { index }: SellerMarketplace): Order {
  const marketplace = marketplaces[index] ?? american;
  const taxRate = draw.pick(marketplace.taxRates);
  const isFulfilled = !draw.oneIn(10);
  const quantity = draw.oneIn(150) ? draw.between(6, 24) : draw.oneIn(9) ? draw.between(2, 3) : 1;
  const facilitated = marketplace.facilitated;
  const first = itemOf(draw, marketplace, taxRate, isFulfilled, quantity);
  const more = draw.oneIn(12) ? [itemOf(draw, marketplace, taxRate, isFulfilled, 1)] : [];
  return { facilitated, sellerOrderId: undefined, items: [first, ...more] };
}

const descriptions: Profile['descriptions'] = {
  coupon: all('Save 10% on camping gear', 'Save $5 on your first order', 'Back to school: 15% off'),
  deal: all('Lightning deal: lanterns', 'Lightning deal: trekking poles'),
  service: all('Other Support Service fees', 'Account management, 1 month'),
  capacity: all('FBA Inventory Fee', 'Reserved capacity: standard-size'),
  fee: all('Monthly storage: standard-size', 'Monthly storage: oversize', 'Aged inventory surcharge, 181-210 days'),
  instrument: all('Visa', 'Mastercard', 'Bank account'),
  payment: all('Amazon Pay: order'),
  refundReason: all('Subscription fee correction'),
  provider: all('Label Partners Ltd.'),
};

/**
 * The smallest and largest number of events of a block: lists with one event in each block are rare, and every 90 days
 * have each.
 */
const blockSizes = { least: 400, most: 2000 };

/** The number of events of each list in a block. From 1,000 events in 90 days on, every 90 days have each list. */
function blockCounts(quarterly: number): ReadonlyMap<EventListName, number> {
  const { least, most } = blockSizes;
  const size = Math.min(Math.max(Math.round(quarterly * 0.4), least), most);
  const shareOf = (share: number) => Math.round(size * share);
  const others: (readonly [EventListName, number])[] = [
    ['RefundEventList', shareOf(0.062)],
    ['ServiceFeeEventList', shareOf(0.05)],
    ['AdjustmentEventList', shareOf(0.005)],
    ['ProductAdsPaymentEventList', shareOf(0.009)],
    ['CouponPaymentEventList', shareOf(0.01)],
    ...onceEach,
  ];
  const rest = others.reduce((sum, [, count]) => sum + count, 0);
  return new Map([['ShipmentEventList', size - rest], ...others]);
}

/** Relative number of events by day, Monday to Sunday, as warehouses ship less at weekends, and January to December. */
const weekdays = [1.2, 1.1, 1.05, 1.05, 1.05, 0.8, 0.75];
const months = [0.94, 0.88, 0.92, 0.92, 0.94, 0.95, 1.03, 0.95, 0.94, 0.98, 1.2, 1.35];
/**
 * Sales, with the days on which their orders are shipped: month (from 0), first and last day, and the factor by which
 * they are busier.
 */
const sales = [
  { month: 6, first: 15, last: 18, factor: 1.7 },
  { month: 10, first: 24, last: 30, factor: 1.5 },
] as const;

/** Days after which months, leap years and weekdays repeat (from 1901 to 2099): 28 years. */
const cycleDays = 28 * 365 + 7;

/** Cumulative weight of the days before each day of a cycle from 1970-01-01 on; the mean weight of a day is 1. */
const weightsBefore = (() => {
  const before = new Float64Array(cycleDays + 1);
  for (let day = 0; day < cycleDays; day++) {
    const date = new Date(day * dayMs);
    const [month, dayOfMonth] = [date.getUTCMonth(), date.getUTCDate()];
    const sale = sales.find(({ month: at, first, last }) => at === month && dayOfMonth >= first && dayOfMonth <= last);
    const weight = (weekdays[(date.getUTCDay() + 6) % 7] ?? 1) * (months[month] ?? 1) * (sale?.factor ?? 1);
    before[day + 1] = (before[day] ?? 0) + weight;
  }
  const mean = (before[cycleDays] ?? cycleDays) / cycleDays;
  return before.map((sum) => sum / mean);
})();

/** A density with weekends, seasons and sales: `events` in `days` days on average over the years. */
function seasonalDensity(events: number, days: number): EventDensity {
  const perDay = events / days;
  const firstOf = (day: number) => {
    const cycle = Math.floor(day / cycleDays);
    return Math.floor(perDay * (cycle * cycleDays + (weightsBefore[day - cycle * cycleDays] ?? 0)));
  };
  // Most calls are about neighbours, so the day of the last result is tried first.
  let last = { day: 0, first: 0, end: 0 };
  return {
    perDay,
    firstOf,
    dayOf: (ordinal) => {
      if (ordinal >= last.first && ordinal < last.end) return last.day;
      let from = Math.floor(ordinal / perDay) - 100;
      let to = from + 200;
      while (from + 1 < to) {
        const middle = Math.floor((from + to) / 2);
        if (firstOf(middle) <= ordinal) from = middle;
        else to = middle;
      }
      last = { day: from, first: firstOf(from), end: firstOf(from + 1) };
      return from;
    },
  };
}

/**
 * The loan event of a block: a small loan is repaid with interest over eleven blocks; its amounts grow with the
 * seller's size.
 */
function drawLoan(_draw: Draw, block: number, size: number): LoanEvent {
  const advance = 150 * size;
  const payment: LoanEvent = { type: 'LoanPayment', cents: -Math.round((advance * 1.06) / 11) };
  return inTurn(block, [{ type: 'LoanAdvance', cents: advance }, ...Array.from({ length: 11 }, () => payment)]);
}

/** A typical seller: about 40 dollars an order, on six marketplaces, with seasons. */
export const plausible: Profile = {
  marketplaces,
  oddities: false,
  products: articles,
  descriptions,
  marketplaceOf: (bits, list) => (accountLists.has(list) ? american : (shares[bits >>> 26] ?? american)),
  blockCounts,
  density: seasonalDensity,
  drawOrder,
  drawLoan,
  // Every sixth settlement in Mexico: one in twelve weeks.
  isCarriedOver: ({ currency }, period) => currency === 'MXN' && (((period + 4) % 6) + 6) % 6 === 0,
  openingCents: () => 0,
};
