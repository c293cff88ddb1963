package commands_test

import (
	"errors"
	"strings"
	"testing"

	"herald/commands"
	"herald/commands/commandstest"
	"herald/internal/chat"
)

// off names services that are off.
type off struct {
	price   bool
	supply  bool
	pools   bool
	partner bool
}

// commandsWithout returns the commands of a bot that lacks services.
func commandsWithout(w *commandstest.Answers, lacks off) chat.Commands {
	sources := w.Sources()
	if lacks.price {
		sources.Price = nil
		sources.Chart = nil
	}
	if lacks.supply {
		sources.Supply = nil
	}
	if lacks.pools {
		sources.Stakes = nil
		sources.Total = nil
	}
	if lacks.partner {
		sources.Accounts = nil
		sources.Logins = nil
	}
	return commands.All(sources, w.Options)
}

func TestSupplyLeavesOutItsWorthIfThereIsNoPriceProvider(t *testing.T) {
	reply, err := run(t, commandsWithout(withTotal("244123456.7", commandstest.Noon), off{price: true}), "supply", nil)
	if err != nil {
		t.Errorf("the answer is not whole: %v", err)
	}
	said := texts(reply)
	if strings.Contains(said, "$") || strings.Contains(said, "rice") {
		t.Errorf("the answer speaks of a price:\n%s", said)
	}
	if !strings.Contains(said, "Staked") {
		t.Errorf("the answer lacks what is staked:\n%s", said)
	}
}

func TestSupplyLeavesOutWhatIsStakedIfThereAreNoPools(t *testing.T) {
	reply, err := run(t, commandsWithout(withTotal("244123456.7", commandstest.Noon), off{pools: true}), "supply", nil)
	if err != nil {
		t.Errorf("the answer is not whole: %v", err)
	}
	if said := texts(reply); strings.Contains(said, "take") {
		t.Errorf("the answer speaks of stakes:\n%s", said)
	}
}

func TestStakedLeavesOutItsWorthIfThereIsNoPriceProvider(t *testing.T) {
	reply, err := run(t, commandsWithout(commandstest.Healthy(), off{price: true}), "staked", aboutAnns)
	if err != nil {
		t.Errorf("the answer is not whole: %v", err)
	}
	if said := texts(reply); strings.Contains(said, "$") {
		t.Errorf("the answer says what the stake is worth:\n%s", said)
	}
}

func TestVerifySaysOnlyWhoseAWalletIsIfThereAreNoPools(t *testing.T) {
	w := commandstest.Healthy()
	w.Saved.Off = false
	reply, err := run(t, commandsWithout(w, off{pools: true}), "verify", aboutAnns)
	if err != nil {
		t.Errorf("the answer is not whole: %v", err)
	}
	said := texts(reply)
	if reply.Title.Key != "verify.you.yes" || strings.Contains(said, "stak") {
		t.Errorf("want whose the wallet is alone, got\n%s", said)
	}
	if len(reply.Actions) > 0 {
		t.Errorf("an address cannot be saved, but there are buttons: %v", reply.Actions)
	}
}

func TestVerifyHasNoAnswerIfThePartnerFailsAndThereAreNoPools(t *testing.T) {
	w := commandstest.Healthy()
	w.AccountsErr = partnerDown
	reply, err := run(t, commandsWithout(w, off{pools: true}), "verify", aboutAnns)
	_, isPartial := errors.AsType[*chat.PartialError](err)
	if err == nil || isPartial {
		t.Errorf("want an error and no card, got %v and %v", err, reply)
	}
}

// Somebody may have saved an address before the operator turned the partner off.
func TestForgetIsUnlistedButWorksIfThereIsNoPartner(t *testing.T) {
	w := commandstest.Healthy()
	w.Saved.Off = false
	command, found := commandsWithout(w, off{partner: true}).Find("forget")
	if !found || !command.Forms[0].Unlisted {
		t.Fatalf("/forget is known %t and unlisted %t", found, found && command.Forms[0].Unlisted)
	}
	reply, err := run(t, commandsWithout(w, off{partner: true}), "forget", nil)
	if err != nil || reply.Title.Key != "forget.nothing" {
		t.Errorf("got %v, %v", reply, err)
	}
}

func TestStartHasButtonsForWhatThereIs(t *testing.T) {
	for _, test := range []struct {
		lacks off
		want  string
	}{
		{off{}, "price price supply staked help"},
		{off{price: true}, "supply staked help"},
		{off{supply: true, pools: true}, "price price help"},
		{off{price: true, supply: true, pools: true}, "help"},
	} {
		help, _ := commandsWithout(commandstest.Healthy(), test.lacks).Find("help")
		reply, err := help.Forms[0].Run(t.Context(), &chat.Request{Command: "start", Direct: true})
		if err != nil {
			t.Fatal(err)
		}
		var buttons []string
		for _, b := range reply.Actions {
			if b.Command != "" {
				buttons = append(buttons, b.Command)
			}
		}
		if got := strings.Join(buttons, " "); got != test.want {
			t.Errorf("without %+v: the buttons are %q, want %q", test.lacks, got, test.want)
		}
	}
}
