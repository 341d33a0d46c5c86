/** The kinds of net amounts that the model knows. */
export const netKinds = [
  ...['charge', 'promotion', 'points', 'fee', 'tax', 'tax_withheld', 'reimbursement', 'credit', 'debt', 'loan'],
  ...['disbursement', 'direct_payment', 'adjustment'],
];
