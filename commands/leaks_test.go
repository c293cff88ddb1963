package commands_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"pgregory.net/rapid"

	"herald/commands/commandstest"
	"herald/internal/chat"
	"herald/internal/core"
	"herald/internal/words"
)

// What nobody but its owner may read, and what nobody may read at all.
const (
	secretDID   = "did:secret:"
	secretLogin = "SecretDapp"
	secretError = "SecretDetail"
)

// TestNothingPrivateIsInAPublicAnswer asks everything of every kind of world.
// What a public answer or its buttons hold, anybody may read; and the buttons of
// a private one say nothing of whom it is about, but what its reader typed.
func TestNothingPrivateIsInAPublicAnswer(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := drawnWorld(t, rt)
		r := w.Router(t)
		req := drawnRequest(rt)
		for range 3 { // an answer, and what two of its buttons answer
			reply := r.Handle(t.Context(), req)
			reply.Language = rapid.SampledFrom(chat.Languages()).Draw(rt, "language")
			card := words.Print(reply)
			said := everything(t, reply) + shown(card)
			if r.Visibility(req.Command) == chat.Private {
				refuse(rt, req, said, secretDID, secretError)
				if req.Command == "exists" && !strings.Contains(fmt.Sprint(req.Args), "EVM") { // Moderators read no saved wallet and no amount.
					refuse(rt, req, said, "0x", "TKN")
				}
				for _, b := range card.Buttons {
					// A second try, and saving, repeat the wallet that its reader typed or saved.
					state := regexp.MustCompile(`^1 e 0 (verify|save) 0x[0-9a-fA-F]{40}$`).ReplaceAllString(b.State, "")
					refuse(rt, req, state+b.URL+b.Copy, annID, bobID, "0x", secretLogin)
				}
			} else {
				refuse(rt, req, said, secretDID, secretError, secretLogin, annID, bobID)
				refuse(rt, req, said, `"Key":"exists.`, `"Key":"verify.`, `"Key":"logins.`, `"Key":"person`, `"Key":"save.`, `"Key":"forget.`)
			}
			if len(card.Buttons) == 0 {
				return
			}
			press, err := chat.ParseState(rapid.SampledFrom(card.Buttons).Draw(rt, "button").State)
			if err != nil {
				return
			}
			req.Command, req.Args = press.Command, chat.Typed(press.Args...)
			req.From.ID = rapid.SampledFrom(askers).Draw(rt, "presser")
		}
	})
}

const annID, bobID = "100000001", "200000002"

var askers = []string{annID, bobID, "300000003", ""}

// drawnWorld has secrets in all that services say, services that fail, and saved addresses.
func drawnWorld(t *testing.T, rt *rapid.T) *commandstest.Answers {
	w := savingMembers()
	for id, address := range map[string]string{annID: commandstest.Wallet, bobID: commandstest.AnnsWallet} {
		same := core.Account{DID: secretDID + id}
		w.Accounts[core.Identity{Platform: "Telegram", UID: id}], w.Accounts[ownerOf(address)] = same, same
		as(t, w.Router(t), id, "/save "+address)
	}
	did := func(name string) core.Account {
		return core.Account{DID: rapid.SampledFrom([]string{"", secretDID + "1", secretDID + "1", secretDID + "2"}).Draw(rt, name)}
	}
	w.Accounts = map[core.Identity]core.Account{}
	for _, id := range []core.Identity{{Platform: "Telegram", UID: annID}, {Platform: "Telegram", UID: bobID}, ownerOf(commandstest.Wallet), ownerOf(commandstest.AnnsWallet)} {
		w.Accounts[id] = did(id.Platform + id.UID)
	}
	w.Logins = make([]core.Login, rapid.SampledFrom([]int{0, 1, 35, 35}).Draw(rt, "logins"))
	for i := range w.Logins {
		w.Logins[i] = core.Login{Dapp: secretLogin, Platform: secretLogin, At: time.Now()}
	}
	w.AnybodysLogins = true
	fail := func(name string) error {
		service := rapid.SampledFrom(commandstest.Services).Draw(rt, name+" service")
		reason := rapid.SampledFrom(commandstest.Reasons).Draw(rt, name+" reason")
		return rapid.SampledFrom([]error{
			nil, nil, nil, nil, nil, nil, service.Fail(reason, errors.New(secretError+secretDID)), context.DeadlineExceeded, errors.New(secretError + secretLogin),
		}).Draw(rt, name)
	}
	w.PriceErr, w.SupplyErr, w.StakeErr, w.ChartErr = fail("price"), fail("supply"), fail("stake"), fail("chart")
	w.AccountsErr, w.LoginsErr = fail("accounts"), fail("logins")
	w.AccountErrs = map[string]error{"EVM": fail("wallets")}
	w.Price.Stale, w.Supply.Stale = rapid.Bool().Draw(rt, "old price"), rapid.Bool().Draw(rt, "old supply")
	if rapid.Bool().Draw(rt, "no stake") {
		w.Stake.Staked = nil
	}
	if rapid.Bool().Draw(rt, "unread pool") {
		w.Stake.Failed = unreadPool()
	}
	if rapid.Bool().Draw(rt, "no picture") {
		w.Chart = core.Chart{}
	}
	return w
}

func ownerOf(address string) core.Identity { return core.IdentityOf(common.HexToAddress(address)) }

func drawnRequest(rt *rapid.T) *chat.Request {
	line := strings.Fields(rapid.SampledFrom([]string{
		"price", "price 7d", "price 1,500", "supply", "staked " + commandstest.Wallet, "staked " + secretLogin, "mylogins", "mylogins", "mylogins 2", "exists",
		"exists " + bobID, "exists Telegram " + bobID, "exists EVM " + commandstest.Wallet, "exists @bob", "verify " + commandstest.Wallet,
		"verify " + bobID + " " + commandstest.AnnsWallet, "verify bob.eth", "verify", "forget", "details", "save " + commandstest.Wallet, "status", "help", "moon " + secretLogin,
	}).Draw(rt, "line"))
	req := &chat.Request{
		ID:      "REF",
		Command: line[0],
		Args:    chat.Typed(line[1:]...),
		From:    chat.User{Platform: "telegram", ID: rapid.SampledFrom(askers).Draw(rt, "asker")},
		Role:    rapid.SampledFrom([]chat.Role{chat.Member, chat.Moderator}).Draw(rt, "role"),
		Chat:    commandstest.Community, Community: commandstest.Community,
		Direct: rapid.Bool().Draw(rt, "direct"),
	}
	if rapid.IntRange(0, 3).Draw(rt, "a reply to Bob") == 3 {
		req.Target = &chat.User{Platform: "telegram", ID: bobID}
	}
	return req
}

// everything is all that a reply holds, whether it is shown or not.
func everything(t *testing.T, r *chat.Reply) string {
	t.Helper()
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	all := string(b)
	for outcome := chat.LetIn; r.Join.Admit != nil && outcome <= chat.ApprovalFailed; outcome++ {
		all += everything(t, r.Join.Admit.Say(outcome))
	}
	return all
}

func refuse(rt *rapid.T, req *chat.Request, said string, secrets ...string) {
	for _, secret := range secrets {
		if strings.Contains(said, secret) {
			rt.Errorf("%+v: %s is in %s", req, secret, said)
		}
	}
}
