import { eventLists } from '../../src/sources/finances/api-v0/event-records.js';

/** Those that make up nearly all of what a shop sells. */
const usualLists = ['ShipmentEventList', 'RefundEventList', 'ServiceFeeEventList', 'AdjustmentEventList'];

/** What the input's events are of: with LISTS=4 in the environment four lists of a usual seller, else all, and whatever JSON allows. */
export const isUsual = process.env['LISTS'] === '4';
export const inputLists: readonly string[] = isUsual ? usualLists : Object.keys(eventLists);
