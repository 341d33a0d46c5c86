import { questionNames } from '../../app/query/question-names.js';
import { usageError } from '../../core/errors.js';
import { readFormat, readingContext, shared, type CommandDefinition } from '../options/command-definition.js';
import { readParameters, resultOptions, seenAccounts } from '../options/query-options.js';

export const askCommand: CommandDefinition = {
  name: 'ask',
  positional: {
    name: 'QUESTION',
    many: false,
    choices: questionNames,
    about: 'Name of a question [default: lists them]',
  },
  about: 'Answer a common question about the lake: profit, fees, refunds, payouts',
  description:
    'Without a name it lists the questions with their parameters. With one it prints the answer: a query over the views of\n' +
    '`ledgerlake sql`, which --sql prints instead, as a start for one of your own. A month that is not named is the newest\n' +
    'one that is loaded to its end.',
  options: {
    ...shared('lake', 'config'),
    ...seenAccounts,
    ...shared('cache', 'time-zone', 'costs'),
    param: { about: 'NAME=VALUE: the value of a parameter; may be repeated' },
    sql: { isFlag: true, about: 'Print the query instead, which `ledgerlake sql` runs' },
    ...resultOptions,
  },
  severalAccounts: 'at once',
  examples: [
    ['ask', 'the questions'],
    ['ask profit-by-sku --param month=2026-01 --costs costs.csv', 'with the margin'],
    ['ask refund-rate --param limit=50 -o refunds.xlsx', 'to a workbook'],
    ['ask fee-rate --sql', 'its SQL'],
  ],
  run: async (args, context) => {
    const name = args.text('QUESTION');
    const parameters = readParameters(args);
    if (name === undefined) {
      if (Object.keys(parameters).length > 0 || args.flag('sql') || args.text('output') !== undefined)
        throw usageError('expected the name of a question, got none; `ledgerlake ask` alone lists them');
      const { listQuestions } = await import('../../app/query/ask.js');
      await listQuestions(readFormat(args), readingContext(args, context));
      return 0;
    }
    const { askedQuestion } = await import('../../app/query/ask.js');
    const { runOverLake } = await import('../sql-shell/run-sql.js');
    return runOverLake(args, context, {
      queryOf: (lake, { timeZone }) => askedQuestion(lake, { name, parameters, timeZone, now: context.clock.now() }),
      isPrinted: args.flag('sql'),
    });
  },
};
