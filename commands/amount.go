package commands

import (
	"context"
	"regexp"
	"strings"

	"github.com/shopspring/decimal"

	"herald/internal/chat"
)

// maxAmountDigits bounds the digits of an amount; 2m has seven. The state of a button has
// room for so many.
const maxAmountDigits = 30

var amountParam = chat.Param{
	Name: "amount", Summary: chat.Say("param.amount"), Example: "1500", Phrase: true, Like: regexp.MustCompile(`^\W*[0-9]`),
}

var (
	// typedAmount matches a number with any separators, and the unit after it.
	typedAmount = regexp.MustCompile(`^(-?)([0-9., _]*[0-9]) ?([kKmM]?)$`)
	// wholeNumber matches digits that one separator divides into thousands, or none.
	wholeNumber = regexp.MustCompile(`^([0-9]*|[1-9][0-9]{0,2}((,[0-9]{3})+|(\.[0-9]{3})+|(_[0-9]{3})+|( [0-9]{3})+))$`)
	// separators removes what may divide a whole number.
	separators = strings.NewReplacer(",", "", ".", "", "_", "", " ", "")
	// unitPowers are the powers of ten of the units.
	unitPowers = map[string]int32{"k": 3, "m": 6}
)

// readNumber returns the number in digits with separators, and false if these are misplaced.
// A single one before three digits, as in 1.500, divides thousands if it is the language's
// group. Otherwise it is the decimal point.
func readNumber(typed, group string) (n decimal.Decimal, ok bool) {
	whole, fraction := typed, "0"
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

// parseAmount returns the number of tokens in the arguments, which the token's symbol may
// follow, or an InputError.
func (o Options) parseAmount(req chat.Request) (decimal.Decimal, error) {
	words := strings.Fields(req.Args.Value(amountParam.Name))
	if last := len(words) - 1; last > 0 && strings.EqualFold(words[last], o.Symbol) {
		words = words[:last]
	}
	wrong := &chat.InputError{Problem: wrongArgument}
	parts := typedAmount.FindStringSubmatch(strings.Join(words, " "))
	if parts == nil {
		return decimal.Zero, wrong
	}
	number, ok := readNumber(parts[2], req.Language.Info().Group)
	if !ok {
		return decimal.Zero, wrong
	}
	tokens := number.Shift(unitPowers[strings.ToLower(parts[3])])
	switch {
	case parts[1] != "" || tokens.IsZero():
		return decimal.Zero, &chat.InputError{Problem: chat.Say("amount.zero")}
	case len(separators.Replace(tokens.String())) > maxAmountDigits:
		most := chat.Values{"digits": chat.Count(maxAmountDigits)}
		return decimal.Zero, &chat.InputError{Problem: chat.SayWith("amount.long", most)}
	}
	return tokens, nil
}

// buttonAmount returns tokens as the argument of a button. Whoever presses may read another
// language, so a fraction never has three digits: 1.125 is 1125 in Spanish, 1.1250 is not.
func buttonAmount(tokens decimal.Decimal) string {
	amount := tokens.String()
	if _, fraction, _ := strings.Cut(amount, "."); len(fraction) == 3 {
		amount += "0"
	}
	return amount
}

// worth returns what an amount of tokens is worth, above the price of one.
func (c *priceCommand) worth(ctx context.Context, req chat.Request) (chat.Reply, error) {
	tokens, err := c.parseAmount(req)
	if err != nil {
		return chat.Reply{}, err
	}
	amount := buttonAmount(tokens)
	answer, err := c.Price.Get(ctx, struct{}{})
	if err != nil {
		return chat.Reply{About: amount, Actions: []chat.Action{chat.TryAgain("price", amount)}}, err
	}
	answer.Value = dated(answer)
	q := answer.Value
	reply := c.reply(answer, "", "24h", q.Change24h)
	price := chat.SayWith("price.title", chat.Values{"symbol": chat.Plain(c.Symbol), "price": chat.Price{Decimal: q.Price}})
	reply.Sections = []chat.Section{{Fields: []chat.Field{{Name: price, Value: reply.Subtitle}}}}
	reply.Title = chat.SayWith("amount.title", chat.Values{
		"amount": c.amount(tokens, chat.Exact), "worth": sumInDollars(tokens.Mul(q.Price)),
	})
	if q.Old() {
		reply.Title = chat.SayWith("amount.old", chat.Values{"worth": reply.Title, "age": chat.Age{Time: q.LastUpdated}})
	}
	reply.Subtitle, reply.About = nil, amount
	reply.Actions = append([]chat.Action{refresh("price", amount)}, pageLink(q)...)
	return reply, nil
}

// sumInDollars returns a sum in USD. Below a dollar the sum is shown like a price, with four
// significant digits.
func sumInDollars(sum decimal.Decimal) chat.Value {
	if sum.LessThan(decimal.New(1, 0)) {
		return chat.Price{Decimal: sum}
	}
	return chat.Money{Decimal: sum}
}
