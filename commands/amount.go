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

// maxAmountDigits bounds the digits of an amount; 2m has seven. The state of a button has
// room for so many.
const maxAmountDigits = 30

// dollar matches the unit of a sum in USD.
const dollar = `(\$|us\$|usd|dollars?|d[oó]lar(?:es)?|доллар(?:а|ов)?|美元|đô(?: la)?)`

var amountParam = chat.Param{
	Name:    "amount",
	Summary: chat.Say("param.amount"),
	Example: "1500",
	Phrase:  true,
	Like:    regexp.MustCompile(`(?i)^(\W*|-?` + dollar + `\W*)[0-9]`),
}

var (
	// typedAmount matches a number with any separators, the power of ten or the unit after it,
	// and the dollar before or after it.
	typedAmount = regexp.MustCompile(`(?i)^(-?)` + dollar + `? ?` +
		`(-?)([0-9., _]*[0-9])(?:e\+?(-?[0-9]+)| ?(k|m|bn?))? ?` + dollar + `?$`)
	// wholeNumber matches digits that one separator divides into thousands, or none.
	wholeNumber = regexp.MustCompile(`^([0-9]*|[1-9][0-9]{0,2}((,[0-9]{3})+|(\.[0-9]{3})+|(_[0-9]{3})+|( [0-9]{3})+))$`)
	// separators removes what may divide a whole number.
	separators = strings.NewReplacer(",", "", ".", "", "_", "", " ", "")
	// unitPowers are the powers of ten of the units.
	unitPowers = map[string]int32{"k": 3, "m": 6, "b": 9, "bn": 9}
)

// readNumber returns the number in digits with separators, and false if these are misplaced.
// A single one before three digits, as in 1.500, divides thousands if it is the language's
// group. Otherwise it is the decimal point.
func readNumber(typed, group string) (n decimal.Decimal, ok bool) {
	whole, fraction := typed, ""
	if i := strings.LastIndexAny(typed, ".,"); i >= 0 {
		separator := typed[i : i+1]
		single := strings.Count(typed, separator) == 1
		if single && (separator != group || !wholeNumber.MatchString(typed)) {
			whole, fraction = typed[:i], typed[i+1:]
		}
	}
	n, err := decimal.NewFromString(separators.Replace(whole) + "." + fraction)
	return n, err == nil && wholeNumber.MatchString(whole)
}

// parseAmount returns the number in the arguments, above 0, and whether it is of dollars and
// not of tokens. Otherwise it returns an InputError.
func (c *priceCommand) parseAmount(req *chat.Request) (number decimal.Decimal, dollars bool, err error) {
	typed := strings.Join(c.tidy(strings.Fields(req.Args.Value(amountParam.Name))), " ")
	parts := append(typedAmount.FindStringSubmatch(typed), make([]string, 8)...) // empty ones without a match
	number, ok := readNumber(parts[4], req.Language.Info().Group)
	if !ok {
		return number, false, &chat.InputError{Problem: c.wrongArgument(typed)}
	}
	power, err := strconv.ParseInt(cmp.Or(parts[5], "0"), 10, 32)
	number = number.Shift(int32(power) + unitPowers[strings.ToLower(parts[6])])
	exponent := int(number.Exponent())
	switch {
	case parts[1]+parts[3] != "" || number.IsZero():
		return number, false, &chat.InputError{Problem: chat.Say("amount.zero")}
	// Counted, not written: 1e999999999 has a gigabyte of digits.
	case err != nil || max(number.NumDigits()+exponent, 1)+max(-exponent, 0) > maxAmountDigits:
		most := chat.Values{"digits": chat.Count(maxAmountDigits)}
		return number, false, &chat.InputError{Problem: chat.SayWith("amount.long", most)}
	}
	return number, parts[2]+parts[7] != "", nil
}

// buttonAmount returns a number as the argument of a button. Whoever presses may read another
// language, so a fraction never has three digits: 1.125 is 1125 in Spanish, 1.1250 is not.
func buttonAmount(number decimal.Decimal) string {
	amount := number.String()
	if _, fraction, _ := strings.Cut(amount, "."); len(fraction) == 3 {
		amount += "0"
	}
	return amount
}

// worth returns what an amount of tokens is worth, or how many tokens a sum in USD is, above
// the price of one.
func (c *priceCommand) worth(ctx context.Context, req *chat.Request) (*chat.Reply, error) {
	number, dollars, err := c.parseAmount(req)
	if err != nil {
		return nil, err
	}
	argument := buttonAmount(number)
	if dollars {
		argument = "$" + argument
	}
	var amount chat.Value = c.amount(number, chat.Exact)
	if dollars {
		amount = chat.Money{Decimal: number, Exact: true}
	}
	answer, err := c.Price.Get(ctx, struct{}{})
	if doubt, is := doubtOf(err); is {
		return c.unvalued(doubt, amount, argument), partly(err)
	}
	if err != nil {
		return &chat.Reply{About: argument, Actions: []chat.Action{chat.TryAgain("price", argument)}}, err
	}
	answer.Value = dated(answer)
	q := answer.Value
	reply := c.priceReply(answer, "", "24h", q.Change24h)
	values := chat.Values{"amount": amount, "worth": sumInDollars(number.Mul(q.Price))}
	if dollars {
		values["worth"] = c.amount(tokensFor(number, q.Price), chat.Exact)
	}
	reply.Title = chat.SayWith("amount.title", values)
	rate := chat.Parts{chat.SayWith("amount.rate", chat.Values{
		"amount": c.amount(decimal.NewFromInt(1), chat.Exact), "price": chat.Price{Decimal: q.Price},
	})}
	if q.Old() {
		reply.Title = chat.SayWith("amount.old", chat.Values{"worth": reply.Title, "age": chat.Age{Time: q.LastUpdated}})
	} else if q.Change24h.Valid {
		change := chat.Change{Decimal: q.Change24h.Decimal, Dot: true}
		rate = append(rate, chat.SayWith("price.change", chat.Values{"change": change, "period": chat.Say("price.24h")}))
	}
	reply.Subtitle = nil
	reply.About = argument
	reply.Sections = []chat.Section{{Fields: []chat.Field{{Value: rate}}}}
	reply.Actions = []chat.Action{
		{Label: chat.Say("button.chart"), Command: "price", Args: []string{"7d"}},
		refresh("price", argument),
	}
	return reply, nil
}

// tokensFor returns how many tokens a sum in USD is: whole ones from a thousand on, and
// otherwise with four significant digits.
func tokensFor(sum, price decimal.Decimal) decimal.Decimal {
	tokens := sum.DivRound(price, 2*maxAmountDigits) // enough for the least sum at the highest price
	wholeDigits := tokens.NumDigits() + int(tokens.Exponent())
	return tokens.Round(int32(max(4-wholeDigits, 0)))
}

// sumInDollars returns a sum in USD. Below a dollar the sum is shown like a price, with four
// significant digits.
func sumInDollars(sum decimal.Decimal) chat.Value {
	if sum.LessThan(decimal.New(1, 0)) {
		return chat.Price{Decimal: sum}
	}
	return chat.Money{Decimal: sum}
}
