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

// amountParam is an amount of tokens or of dollars, such as "1500" or "$1.5k".
var amountParam = chat.Param{
	Name:    "amount",
	Summary: chat.Say("param.amount"),
	Example: "1500",
	Phrase:  true,
	Like:    regexp.MustCompile(`(?i)^(\W*|-?` + dollar + `\W*)[0-9]`),
}

// convert answers /price <amount>. It returns what a number of tokens is worth, or how many tokens a sum in USD buys,
// and the price of one token. If the price is doubtful, the reply lacks the conversion, and convert also returns a
// PartialError.
func (c *priceCommand) convert(ctx context.Context, req *chat.Request) (*chat.Reply, error) {
	amount, err := c.parseAmount(req)
	if err != nil {
		return nil, err
	}
	argument := amount.argument()
	price, err := c.Price.Get(ctx, struct{}{})
	if doubt, isDoubt := doubtOf(err); isDoubt {
		return c.doubtfulAmountReply(doubt, c.amountValue(amount), argument), asPartialError(err)
	}
	if err != nil {
		return &chat.Reply{About: argument, Actions: []chat.Action{chat.TryAgain("price", argument)}}, err
	}
	return c.conversion(amount, dated(price)), nil
}

// conversion returns the reply to /price <amount>.
func (c *priceCommand) conversion(amount parsedAmount, answer datedQuote) *chat.Reply {
	q := answer.Value
	worth := sumInDollars(amount.number.Mul(q.Price))
	if amount.isDollars {
		worth = c.amount(tokensFor(amount.number, q.Price), chat.Exact)
	}
	title := chat.SayWith("amount.title", chat.Values{"amount": c.amountValue(amount), "worth": worth})
	rate := chat.Parts{chat.SayWith("amount.rate", chat.Values{
		"amount": c.amount(decimal.NewFromInt(1), chat.Exact),
		"price":  chat.Price{Decimal: q.Price},
	})}
	if q.Old() {
		title = chat.SayWith("amount.old", chat.Values{"worth": title, "age": chat.Age{Time: q.LastUpdated}})
	} else if q.Change24h.Valid {
		change := chat.Change{Decimal: q.Change24h.Decimal, Dot: true}
		rate = append(rate, chat.SayWith("price.change", chat.Values{"change": change, "period": lastDay.label()}))
	}
	argument := amount.argument()
	reply := c.priceReply(answer, dayChange(q), noPeriod)
	reply.Title = title
	reply.Subtitle = nil
	reply.About = argument
	reply.Sections = []chat.Section{{Fields: []chat.Field{{Value: rate}}}}
	reply.Actions = []chat.Action{
		{Label: chat.Say("button.chart"), Command: "price", Args: []string{lastWeek.name}},
		refreshPrice(argument),
	}
	return reply
}

// amountValue returns the amount as the reply repeats it.
func (c *priceCommand) amountValue(a parsedAmount) chat.Value {
	if a.isDollars {
		return chat.Money{Decimal: a.number, Exact: true}
	}
	return c.amount(a.number, chat.Exact)
}

// tokensFor returns how many tokens a sum in USD buys at a price. It rounds to a whole number or, below a thousand, to
// four significant digits: 2396.06 becomes 2396, and 23.9606 becomes 23.96.
func tokensFor(sum, price decimal.Decimal) decimal.Decimal {
	const digits = 2 * maxAmountDigits // enough for the smallest sum at the highest price
	tokens := sum.DivRound(price, digits)
	wholeDigits := tokens.NumDigits() + int(tokens.Exponent())
	return tokens.Round(int32(max(4-wholeDigits, 0)))
}

// sumInDollars returns a sum in USD. A sum below a dollar is shown like a price, with four significant digits.
func sumInDollars(sum decimal.Decimal) chat.Value {
	if sum.LessThan(decimal.New(1, 0)) {
		return chat.Price{Decimal: sum}
	}
	return chat.Money{Decimal: sum}
}

// maxAmountDigits is the maximum number of digits in an amount; 2m has seven. A button has no room for more.
const maxAmountDigits = 30

// parsedAmount is an amount above 0 of at most maxAmountDigits digits.
type parsedAmount struct {
	number    decimal.Decimal
	isDollars bool // number is a sum in USD, and not a number of tokens
}

// argument returns the amount as the argument of a button. It adds a 0 to a fraction of three digits, because the user
// who presses the button may use another language: in Spanish, 1.125 means 1125, but 1.1250 does not mean 11250.
func (a parsedAmount) argument() string {
	argument := a.number.String()
	if _, fraction, _ := strings.Cut(argument, "."); len(fraction) == 3 {
		argument += "0"
	}
	if a.isDollars {
		return "$" + argument
	}
	return argument
}

// parseAmount parses the amount in the arguments. If they are not an amount above 0, or have too many digits, the error
// is an InputError.
func (c *priceCommand) parseAmount(req *chat.Request) (parsedAmount, error) {
	text := strings.Join(c.tidy(strings.Fields(req.Args.Value(amountParam.Name))), " ")
	parts := splitAmount(text)
	number, ok := readNumber(parts.digits, req.Language.Info().Group)
	if !ok {
		return parsedAmount{}, &chat.InputError{Problem: c.wrongArgument(text)}
	}
	exponent, exponentErr := strconv.ParseInt(cmp.Or(parts.exponent, "0"), 10, 32)
	number = number.Shift(int32(exponent) + suffixPowers[parts.suffix])
	if parts.isNegative || number.IsZero() {
		return parsedAmount{}, &chat.InputError{Problem: chat.Say("amount.zero")}
	}
	// The digits are counted without writing them, because 1e999999999 has a gigabyte of them.
	if exponentErr != nil || writtenDigits(number) > maxAmountDigits {
		limit := chat.Values{"digits": chat.Count(maxAmountDigits)}
		return parsedAmount{}, &chat.InputError{Problem: chat.SayWith("amount.long", limit)}
	}
	return parsedAmount{number: number, isDollars: parts.isDollars}, nil
}

// writtenDigits returns how many digits a number has when it is written without an exponent: 4 for 1500 and for 0.001,
// and 10 for 1e9.
func writtenDigits(n decimal.Decimal) int {
	exponent := int(n.Exponent())
	wholeDigits := max(n.NumDigits()+exponent, 1)
	fractionDigits := max(-exponent, 0)
	return wholeDigits + fractionDigits
}

// amountParts are the parts of an amount as it was typed.
type amountParts struct {
	digits     string // with separators; empty if what was typed is not an amount
	exponent   string // the number after e, or ""
	suffix     string // k, m, b, bn or ""
	isDollars  bool   // the amount is a sum in USD, and not a number of tokens
	isNegative bool
}

// splitAmount returns the parts of an amount. If typed is not an amount, it returns the zero amountParts.
func splitAmount(typed string) amountParts {
	groups := amountForm.FindStringSubmatch(typed)
	if groups == nil {
		return amountParts{}
	}
	return amountParts{
		digits:     groups[amountDigits],
		exponent:   groups[amountExponent],
		suffix:     strings.ToLower(groups[amountSuffix]),
		isDollars:  groups[dollarBefore] != "" || groups[dollarAfter] != "",
		isNegative: groups[signBeforeDollar] != "" || groups[signAfterDollar] != "",
	}
}

// dollar matches a word or sign for USD, in all languages. Parentheses around it make it one group of amountForm.
const dollar = `(\$|us\$|usd|dollars?|d[oó]lar(?:es)?|доллар(?:а|ов)?|美元|đô(?: la)?)`

var (
	// amountForm matches an amount, such as "1,500", "-$ 2.5k" or "1e9 usd". The constants below name its groups.
	amountForm = regexp.MustCompile(`(?i)^(-?)` + dollar + `? ?` +
		`(-?)([0-9., _]*[0-9])(?:e\+?(-?[0-9]+)| ?(k|m|bn?))? ?` + dollar + `?$`)
	// wholeNumber matches digits, which one kind of separator may divide into thousands: "1500" and "1,500", but not
	// "1,50" or "1,500.000".
	wholeNumber = regexp.MustCompile(`^([0-9]*|[1-9][0-9]{0,2}` +
		`((,[0-9]{3})+|(\.[0-9]{3})+|(_[0-9]{3})+|( [0-9]{3})+))$`)
	// separators removes the separators of thousands.
	separators = strings.NewReplacer(",", "", ".", "", "_", "", " ", "")
	// suffixPowers are the powers of ten that the suffix of an amount stands for.
	suffixPowers = map[string]int32{"k": 3, "m": 6, "b": 9, "bn": 9}
)

// The groups of amountForm, in their order.
const (
	signBeforeDollar = iota + 1
	dollarBefore
	signAfterDollar
	amountDigits // with separators
	amountExponent
	amountSuffix // one of suffixPowers
	dollarAfter
)

// readNumber parses digits with separators. thousands is the separator of thousands in the user's language. The last
// "." or "," is the decimal point if it occurs only once, and does not divide thousands in that language: if thousands
// is ".", 1.500 is 1500, and 1.5 is 1.5. ok is false if the separators are misplaced, or if there are no digits.
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
