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

	"pgregory.net/rapid"

	"herald/commands/commandstest"
	"herald/internal/chat"
	"herald/internal/core"
	"herald/internal/words"
)

// Secrets in the answers and the errors of services. Only its owner may read secretLogin; nobody may read the others.
const (
	secretDID   = "did:secret:"
	secretLogin = "SecretDapp"
	secretError = "SecretDetail"
)

// Users who ask. Whether they are registered is drawn.
const (
	annID = "100000001"
	bobID = "200000002"
)

// bobsSaved is the address that Bob saves. No public command of drawnLines has it.
const bobsSaved = commandstest.AnnsWallet

var askers = []string{annID, bobID, "300000003", ""}

// TestNothingPrivateIsInAPublicAnswer asks everything while services answer and fail in every way. Everybody may read
// a public answer and its buttons. The buttons of a private answer must say nothing of the person it is about, except
// what its reader typed.
func TestNothingPrivateIsInAPublicAnswer(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := drawnAnswers(t, rt)
		r := w.Router(t)
		req := drawnRequest(rt)
		for range 3 { // an answer, and the answers to two of its buttons
			reply := r.Handle(t.Context(), req)
			reply.Language = rapid.SampledFrom(chat.Languages()).Draw(rt, "language")
			if r.Visibility(req.Command) == chat.Private {
				checkPrivate(t, rt, req, reply)
			} else {
				checkPublic(t, rt, req, reply)
			}
			pressed := pressDrawn(rt, req, words.Print(reply).Buttons)
			if !pressed {
				return
			}
		}
	})
}

func checkPublic(t *testing.T, rt *rapid.T, req *chat.Request, reply *chat.Reply) {
	said := everythingIn(t, reply) + texts(reply)
	mustNotSay(rt, req, said, secretDID, secretError, secretLogin, annID, bobID, bobsSaved)
	// A public answer has no message of a private command. Their keys begin with these.
	for _, prefix := range []string{"exists.", "verify.", "logins.", "person", "save.", "forget."} {
		mustNotSay(rt, req, said, `"Key":"`+prefix)
	}
}

// repeatsWallet matches the state of a button that repeats the wallet that its reader typed or saved, or that asks for
// another one with "0x?". The state begins with its version, its kind, and the version of the answer.
var repeatsWallet = regexp.MustCompile(`^1 e 0 (verify|save|join -1002) 0x([?]|[0-9a-fA-F]{40})$`)

func checkPrivate(t *testing.T, rt *rapid.T, req *chat.Request, reply *chat.Reply) {
	said := everythingIn(t, reply) + texts(reply)
	mustNotSay(rt, req, said, secretDID, secretError)
	// An answer to /exists about a person, who may be the sender, has neither a wallet nor an amount.
	asksAboutPerson := req.Command == "exists" && !strings.Contains(fmt.Sprint(req.Args), "EVM")
	if asksAboutPerson {
		mustNotSay(rt, req, said, "0x", "TKN")
	}
	for _, b := range words.Print(reply).Buttons {
		state := repeatsWallet.ReplaceAllString(b.State, "")
		mustNotSay(rt, req, state+b.URL+b.Copy, annID, bobID, "0x", secretLogin)
	}
}

// pressDrawn makes req a press of one of the buttons, by a user who is drawn. It returns false if there is no button,
// or if the button asks no command.
func pressDrawn(rt *rapid.T, req *chat.Request, buttons []words.Button) bool {
	if len(buttons) == 0 {
		return false
	}
	press, err := chat.ParseState(rapid.SampledFrom(buttons).Draw(rt, "button").State)
	if err != nil {
		return false
	}
	req.Command = press.Command
	req.Args = chat.Typed(press.Args...)
	req.From.ID = rapid.SampledFrom(askers).Draw(rt, "presser")
	return true
}

// drawnAnswers returns services whose answers hold secrets and which may fail. Addresses of Ann and Bob are saved.
func drawnAnswers(t *testing.T, rt *rapid.T) *commandstest.Answers {
	w := savingMembers()
	w.Options.JoinChats = withJoin().Options.JoinChats
	for id, address := range map[string]string{annID: commandstest.Wallet, bobID: bobsSaved} {
		// /save accepts only an address of the sender's own account. drawAccounts then replaces all accounts.
		account := core.Account{DID: secretDID + id}
		w.Accounts[core.Identity{Platform: "Telegram", UID: id}] = account
		w.Accounts[identityOf(address)] = account
		inGroup(t, w.Router(t), id, "/save "+address)
	}
	drawAccounts(rt, w)
	w.Logins = make([]core.Login, rapid.SampledFrom([]int{0, 1, 35, 35}).Draw(rt, "logins"))
	for i := range w.Logins {
		w.Logins[i] = core.Login{Dapp: secretLogin, Platform: secretLogin, At: time.Now()}
	}
	w.AnybodysLogins = true
	drawErrors(rt, w)
	w.Price.Stale = rapid.Bool().Draw(rt, "old price")
	w.Supply.Stale = rapid.Bool().Draw(rt, "old supply")
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

// drawAccounts draws the DIDs of Ann, of Bob, and of two wallets.
func drawAccounts(rt *rapid.T, w *commandstest.Answers) {
	dids := []string{"", secretDID + "1", secretDID + "1", secretDID + "2"}
	w.Accounts = map[core.Identity]core.Account{}
	for _, id := range []core.Identity{
		{Platform: "Telegram", UID: annID},
		{Platform: "Telegram", UID: bobID},
		identityOf(commandstest.Wallet),
		identityOf(commandstest.AnnsWallet),
	} {
		did := rapid.SampledFrom(dids).Draw(rt, id.Platform+id.UID)
		w.Accounts[id] = core.Account{DID: did}
	}
}

// drawErrors draws an error, which is often nil, for each question.
func drawErrors(rt *rapid.T, w *commandstest.Answers) {
	draw := func(name string) error {
		service := rapid.SampledFrom(commandstest.Services).Draw(rt, name+" service")
		reason := rapid.SampledFrom(commandstest.Reasons).Draw(rt, name+" reason")
		errs := []error{
			nil, nil, nil, nil, nil, nil,
			service.Fail(reason, errors.New(secretError+secretDID)),
			context.DeadlineExceeded,
			errors.New(secretError + secretLogin),
		}
		return rapid.SampledFrom(errs).Draw(rt, name)
	}
	w.PriceErr = draw("price")
	w.SupplyErr = draw("supply")
	w.StakeErr = draw("stake")
	w.ChartErr = draw("chart")
	w.AccountsErr = draw("accounts")
	w.LoginsErr = draw("logins")
	w.AccountErrs = map[string]error{"EVM": draw("wallets")}
}

var drawnLines = []string{
	"price",
	"price 7d",
	"price 1,500",
	"supply",
	"staked " + commandstest.Wallet,
	"staked " + secretLogin, // A public answer repeats no word that it does not know.
	"mylogins",
	"mylogins",
	"mylogins 2",
	"exists",
	"exists " + bobID,
	"exists Telegram " + bobID,
	"exists EVM " + commandstest.Wallet,
	"exists @bob",
	"verify " + commandstest.Wallet,
	"verify " + bobID + " " + commandstest.AnnsWallet,
	"verify bob.eth",
	"verify",
	"forget",
	"details",
	"save " + commandstest.Wallet,
	"status",
	"help",
	"hello",
	"join " + commandstest.Stakers,
	"join " + commandstest.Stakers + " " + commandstest.Wallet,
	"join " + commandstest.Stakers + " " + commandstest.AnnsWallet,
	"moon " + secretLogin,
}

func drawnRequest(rt *rapid.T) *chat.Request {
	typed := strings.Fields(rapid.SampledFrom(drawnLines).Draw(rt, "line"))
	req := &chat.Request{
		ID:        "REF",
		Command:   typed[0],
		Args:      chat.Typed(typed[1:]...),
		From:      chat.User{Platform: "telegram", ID: rapid.SampledFrom(askers).Draw(rt, "asker")},
		Role:      rapid.SampledFrom([]chat.Role{chat.Member, chat.Moderator}).Draw(rt, "role"),
		Chat:      commandstest.Community,
		Community: commandstest.Community,
		Direct:    rapid.Bool().Draw(rt, "direct"),
	}
	if rapid.IntRange(0, 3).Draw(rt, "a reply to Bob") == 3 {
		req.Target = &chat.User{Platform: "telegram", ID: bobID}
	}
	return req
}

// everythingIn returns all that a reply holds, whether it is shown or not.
func everythingIn(t *testing.T, r *chat.Reply) string {
	t.Helper()
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	all := string(b)
	if r.Join.Admit == nil {
		return all
	}
	for outcome := chat.LetIn; outcome <= chat.ApprovalFailed; outcome++ {
		all += everythingIn(t, r.Join.Admit.Say(outcome))
	}
	return all
}

// mustNotSay reports each secret that is in the answer to req.
func mustNotSay(rt *rapid.T, req *chat.Request, said string, secrets ...string) {
	for _, secret := range secrets {
		if strings.Contains(said, secret) {
			rt.Errorf("%+v: %s is in %s", req, secret, said)
		}
	}
}
