package commands

import (
	"cmp"
	"context"
	"regexp"
	"strconv"
	"strings"

	"github.com/shopspring/decimal"

	"herald/internal/chat"
)

// maxAmountDigits is the maximum number of digits in an amount; 2m has seven. The state of a button
// has no room for more.
const maxAmountDigits = 30

// dollar matches a word or sign for USD, in all languages. It has one group.
const dollar = `(\$|us\$|usd|dollars?|d[oó]lar(?:es)?|доллар(?:а|ов)?|美元|đô(?: la)?)`

var amountParam = chat.Param{
	Name:    "amount",
	Summary: chat.Say("param.amount"),
	Example: "1500",
	Phrase:  true,
	Like:    regexp.MustCompile(`(?i)^(\W*|-?` + dollar + `\W*)[0-9]`),
}

var (
	// amountForm matches an amount. The constants below name its groups.
	amountForm = regexp.MustCompile(`(?i)^(-?)` + dollar + `? ?` +
		`(-?)([0-9., _]*[0-9])(?:e\+?(-?[0-9]+)| ?(k|m|bn?))? ?` + dollar + `?$`)
	// wholeNumber matches digits, which one kind of separator may divide into thousands.
	wholeNumber = regexp.MustCompile(`^([0-9]*|[1-9][0-9]{0,2}` +
		`((,[0-9]{3})+|(\.[0-9]{3})+|(_[0-9]{3})+|( [0-9]{3})+))$`)
	// separators removes the separators of thousands.
	separators = strings.NewReplacer(",", "", ".", "", "_", "", " ", "")
	// suffixPowers are the powers of ten that the suffix of an amount stands for.
	suffixPowers = map[string]int32{"k": 3, "m": 6, "b": 9, "bn": 9}
)

// The groups of amountForm, by their positions in it.
const (
	signBeforeDollar = iota + 1
	dollarBefore
	signAfterDollar
	amountDigits // with separators
	amountExponent
	amountSuffix // one of suffixPowers
	dollarAfter
)

// typedAmount is an amount as it was typed, in parts.
type typedAmount struct {
	digits     string // with separators; empty: what was typed is not an amount
	exponent   string // the number after e; empty: none
	suffix     string // k, m, b or bn; empty: none
	isDollars  bool   // it is a sum in USD, and not a number of tokens
	isNegative bool
}

// splitAmount returns the parts of an amount. If typed is not an amount, they are all empty.
func splitAmount(typed string) typedAmount {
	groups := amountForm.FindStringSubmatch(typed)
	if groups == nil {
		return typedAmount{}
	}
	return typedAmount{
		digits:     groups[amountDigits],
		exponent:   groups[amountExponent],
		suffix:     strings.ToLower(groups[amountSuffix]),
		isDollars:  groups[dollarBefore] != "" || groups[dollarAfter] != "",
		isNegative: groups[signBeforeDollar] != "" || groups[signAfterDollar] != "",
	}
}

// readNumber parses digits with separators. thousands is the separator of thousands in the language. A separator that
// occurs once is the decimal point, unless it divides thousands in the language: with the thousands ".", 1.500 is 1500
// and 1.5 is 1.5. ok is false if the separators are misplaced, or if there are no digits.
func readNumber(digits, thousands string) (n decimal.Decimal, ok bool) {
	whole, fraction := digits, ""
	if i := strings.LastIndexAny(digits, ".,"); i >= 0 {
		separator := digits[i : i+1]
		occursOnce := strings.Count(digits, separator) == 1
		dividesThousands := separator == thousands && wholeNumber.MatchString(digits)
		if occursOnce && !dividesThousands {
			whole, fraction = digits[:i], digits[i+1:]
		}
	}
	n, err := decimal.NewFromString(separators.Replace(whole) + "." + fraction)
	return n, err == nil && wholeNumber.MatchString(whole)
}

// writtenDigits returns how many digits a number has when it is written without an exponent: 4 for
// 1500 and for 0.001, and 10 for 1e9.
func writtenDigits(n decimal.Decimal) int {
	exponent := int(n.Exponent())
	wholeDigits := max(n.NumDigits()+exponent, 1)
	fractionDigits := max(-exponent, 0)
	return wholeDigits + fractionDigits
}

// parseAmount parses the amount in the arguments, which must be above 0. isDollars reports whether it is a
// sum in USD, and not a number of tokens. The error is an InputError.
func (c *priceCommand) parseAmount(req *chat.Request) (amount decimal.Decimal, isDollars bool, err error) {
	text := strings.Join(c.tidy(strings.Fields(req.Args.Value(amountParam.Name))), " ")
	typed := splitAmount(text)
	number, ok := readNumber(typed.digits, req.Language.Info().Group)
	if !ok {
		return decimal.Zero, false, &chat.InputError{Problem: c.wrongArgument(text)}
	}
	exponent, exponentErr := strconv.ParseInt(cmp.Or(typed.exponent, "0"), 10, 32)
	number = number.Shift(int32(exponent) + suffixPowers[typed.suffix])
	if typed.isNegative || number.IsZero() {
		return decimal.Zero, false, &chat.InputError{Problem: chat.Say("amount.zero")}
	}
	// The digits are counted and not written, because 1e999999999 has a gigabyte of them.
	if exponentErr != nil || writtenDigits(number) > maxAmountDigits {
		limit := chat.Values{"digits": chat.Count(maxAmountDigits)}
		return decimal.Zero, false, &chat.InputError{Problem: chat.SayWith("amount.long", limit)}
	}
	return number, typed.isDollars, nil
}

// buttonAmount returns a number as the argument of a button. The user who presses it may read another
// language, so the fraction never has three digits: 1.125 is 1125 in Spanish, and 1.1250 is not.
func buttonAmount(number decimal.Decimal) string {
	amount := number.String()
	if _, fraction, _ := strings.Cut(amount, "."); len(fraction) == 3 {
		amount += "0"
	}
	return amount
}

// convert answers /price <amount>. It returns what a number of tokens is worth, or how many tokens a sum in USD buys.
// Below that it shows the price of one token. If the price is doubtful, the reply lacks the conversion, and convert
// also returns a PartialError.
func (c *priceCommand) convert(ctx context.Context, req *chat.Request) (*chat.Reply, error) {
	number, isDollars, err := c.parseAmount(req)
	if err != nil {
		return nil, err
	}
	argument := buttonAmount(number)
	var amount chat.Value = c.amount(number, chat.Exact)
	if isDollars {
		argument = "$" + argument
		amount = chat.Money{Decimal: number, Exact: true}
	}
	price, err := c.Price.Get(ctx, struct{}{})
	if doubt, isDoubt := doubtOf(err); isDoubt {
		return c.doubtfulAmountReply(doubt, amount, argument), asPartialError(err)
	}
	if err != nil {
		return &chat.Reply{About: argument, Actions: []chat.Action{chat.TryAgain("price", argument)}}, err
	}
	answer := dated(price)
	q := answer.Value
	reply := c.priceReply(answer, dayChange(q), noPeriod)
	worth := sumInDollars(number.Mul(q.Price))
	if isDollars {
		worth = c.amount(tokensFor(number, q.Price), chat.Exact)
	}
	reply.Title = chat.SayWith("amount.title", chat.Values{"amount": amount, "worth": worth})
	rate := chat.Parts{chat.SayWith("amount.rate", chat.Values{
		"amount": c.amount(decimal.NewFromInt(1), chat.Exact), "price": chat.Price{Decimal: q.Price},
	})}
	if q.Old() {
		reply.Title = chat.SayWith("amount.old", chat.Values{"worth": reply.Title, "age": chat.Age{Time: q.LastUpdated}})
	} else if q.Change24h.Valid {
		change := chat.Change{Decimal: q.Change24h.Decimal, Dot: true}
		rate = append(rate, chat.SayWith("price.change", chat.Values{"change": change, "period": lastDay.label()}))
	}
	reply.Subtitle = nil
	reply.About = argument
	reply.Sections = []chat.Section{{Fields: []chat.Field{{Value: rate}}}}
	reply.Actions = []chat.Action{
		{Label: chat.Say("button.chart"), Command: "price", Args: []string{lastWeek.name}},
		refreshPrice(argument),
	}
	return reply, nil
}

// tokensFor returns how many tokens a sum in USD buys at a price. From a thousand tokens it returns a
// whole number, and below that four significant digits: 2396.06 becomes 2396, and 23.9606 becomes 23.96.
func tokensFor(sum, price decimal.Decimal) decimal.Decimal {
	const digits = 2 * maxAmountDigits // enough for the smallest sum at the highest price
	tokens := sum.DivRound(price, digits)
	wholeDigits := tokens.NumDigits() + int(tokens.Exponent())
	return tokens.Round(int32(max(4-wholeDigits, 0)))
}

// sumInDollars returns a sum in USD. A sum below a dollar is shown like a price, with four significant
// digits.
func sumInDollars(sum decimal.Decimal) chat.Value {
	if sum.LessThan(decimal.New(1, 0)) {
		return chat.Price{Decimal: sum}
	}
	return chat.Money{Decimal: sum}
}
