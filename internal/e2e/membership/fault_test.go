package membership

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/common"

	fakediscord "herald/internal/demo/fake/discord"
	"herald/internal/demo/fake/services"
	faketelegram "herald/internal/demo/fake/telegram"
	"herald/internal/service/staking/evmabi"
)

const minute = time.Minute

// fault is how a service or a community fails.
type fault string

const (
	works fault = ""

	// Of the node, the partner and the store.
	unavailable fault = "away"

	// Of the node.
	frozen        fault = "frozen" // its blocks are old
	onePoolUnread fault = "a pool unread"
	otherChain    fault = "another chain"
	shortAnswers  fault = "short answers"
	allRevert     fault = "all pools revert"

	// Of the partner.
	garbled fault = "garbled"

	// Of a community.
	lostRight fault = "right lost"            // the bot may not change badges
	thrownOut fault = "thrown out"            // the bot is no longer a member
	notFound  fault = "not found"             // the community does not exist
	limited   fault = "429 for an hour"       // the bot must wait before its next call
	once502   fault = "502 once, carried out" // one change fails, but has its effect
)

var (
	nodeFaults      = []fault{unavailable, frozen, onePoolUnread, otherChain, shortAnswers, allRevert}
	communityFaults = []fault{lostRight, thrownOut, notFound, limited, once502}
)

// setFault sets the fault of a service or a community. If f is works, the fault ends, except that of the community
// that is always broken.
func (w *world) setFault(what string, f fault) {
	w.note("%s: %q", what, f)
	w.locked(func() {
		if f == works && what == w.alwaysBroken {
			return
		}
		w.faults[what] = f
		if slices.Contains(communities, what) && f != works {
			w.hadFaults[communityFault{what, f}] = true
			w.wasLimited = w.wasLimited || f == limited
			w.wasRefused = true
		}
	})
}

// faultOf returns the fault of a service or a community.
func (w *world) faultOf(what string) (f fault) {
	w.locked(func() { f = w.faults[what] })
	return f
}

// frozenFor is how old the blocks of a frozen node are.
const frozenFor = 15 * 24 * time.Hour

// thousandth is a thousandth of a token in base units.
var thousandth = new(big.Int).Exp(big.NewInt(10), big.NewInt(15), nil)

// serveStakes makes the pools of the chain answer with the stakes of the world. Each stake is divided between
// two pools: two thirds are in the first pool, and the rest is in the third.
func (w *world) serveStakes() {
	node := w.fakes.Chain.Handler.(services.Node)
	for i, pool := range w.fakes.World.Pools {
		node.Contracts[pool.Address] = func(n services.Node, block uint64, input []byte) ([]byte, error) {
			f := w.faultOf("chain")
			switch {
			case f == allRevert, f == onePoolUnread && i == 2:
				return nil, services.Reverted("")
			case f == shortAnswers:
				return []byte{0}, nil
			case f == otherChain, !bytes.HasPrefix(input, evmabi.Selector(services.StakingMethod)):
				return evmabi.Uint256(new(big.Int)), nil
			}
			const blockTime = 2 * time.Second
			minedAt := n.Now().Add(-blockTime * time.Duration(n.Block()-block))
			wallet := common.BytesToAddress(input[4:]) // after the method's selector
			amount := w.stakeAt(wallet, minedAt)
			inPool := int64(0)
			switch i {
			case 0:
				inPool = amount - amount/3
			case 2:
				inPool = amount / 3
			}
			return evmabi.Uint256(new(big.Int).Mul(big.NewInt(inPool), thousandth)), nil
		}
	}
}

// answerChain answers a call to the node.
func (w *world) answerChain(rw http.ResponseWriter, r *http.Request) {
	node := w.fakes.Chain.Handler.(services.Node)
	node.Now = time.Now
	switch w.faultOf("chain") {
	case unavailable:
		http.Error(rw, "Bad Gateway", http.StatusBadGateway)
		return
	case otherChain:
		node.ChainID++
	case frozen:
		node.Now = func() time.Time { return time.Now().Add(-frozenFor) }
	}
	node.ServeHTTP(rw, r)
}

// answerPartner answers who registered an account or a wallet. It replaces the fake of package
// services, which does not know the people of the world.
func (w *world) answerPartner(rw http.ResponseWriter, r *http.Request) {
	var outer struct{ RequestBody string }
	var inner struct {
		Platform string
		UID      string `json:"platform_uid"`
	}
	_ = json.NewDecoder(r.Body).Decode(&outer)
	_ = json.Unmarshal([]byte(outer.RequestBody), &inner)
	switch w.faultOf("partner") {
	case unavailable:
		http.Error(rw, "Bad Gateway", http.StatusBadGateway)
		return
	case garbled:
		_, _ = io.WriteString(rw, `{"code":0,"data":{"mid":"0x1"}}`)
		return
	}
	data := "null"
	for _, p := range w.people {
		isWallet := inner.Platform == "EVM" && slices.Contains(p.wallets[:], common.HexToAddress(inner.UID))
		isAccount := strings.EqualFold(inner.Platform, p.platform) && inner.UID == p.id
		if isWallet || isAccount {
			data = fmt.Sprintf(`{"did":%q}`, p.did)
		}
	}
	rw.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(rw, `{"code":0,"data":%s,"message":"success"}`, data)
}

// answerPlatform answers a call to a platform, whose own handler is right, with the fault of the community
// that the call is about. Then the judge looks at what the call has changed.
func (w *world) answerPlatform(rw http.ResponseWriter, r *http.Request, right http.Handler) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	community, changes := communityOf(r, body)
	f := w.faultOf(community)
	onlyChangesFail := f == lostRight || f == once502
	switch {
	case community == "", f == works, onlyChangesFail && !changes:
		right.ServeHTTP(rw, r)
	case f == once502:
		right.ServeHTTP(httptest.NewRecorder(), r)
		w.locked(func() { w.faults[community] = works })
		http.Error(rw, "Bad Gateway", http.StatusBadGateway)
	default:
		refuse(rw, f, isGroup(community))
	}
	if changes && community != "" {
		w.judge.see(w, community)
	}
}

// guildPath matches the path of a call to Discord about a server.
var guildPath = regexp.MustCompile(`/guilds/(\d+)(?:/|$)`)

// communityOf returns the community that a call to a platform is about, or "", and whether the call may
// change badges.
func communityOf(r *http.Request, body []byte) (community string, changes bool) {
	if m := guildPath.FindStringSubmatch(r.URL.Path); m != nil {
		return m[1], r.Method == http.MethodPut || r.Method == http.MethodDelete
	}
	_, method, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	if !slices.Contains([]string{"setChatMemberTag", "getChatMember", "getChat"}, method) {
		return "", false
	}
	for _, c := range communities {
		if bytes.Contains(body, []byte(c)) {
			community = c
		}
	}
	return community, method == "setChatMemberTag"
}

// refuse answers with a fault of a community, as its platform does.
func refuse(rw http.ResponseWriter, f fault, onTelegram bool) {
	if onTelegram {
		refuseOnTelegram(rw, f)
	} else {
		refuseOnDiscord(rw, f)
	}
}

func refuseOnTelegram(rw http.ResponseWriter, f fault) {
	switch f {
	case lostRight:
		faketelegram.Refuse(rw, http.StatusBadRequest, "Bad Request: CHAT_ADMIN_REQUIRED", 0)
	case thrownOut:
		faketelegram.Refuse(rw, http.StatusForbidden, "Forbidden: bot was kicked from the supergroup chat", 0)
	case notFound:
		faketelegram.Refuse(rw, http.StatusBadRequest, "Bad Request: chat not found", 0)
	case limited:
		faketelegram.Refuse(rw, http.StatusTooManyRequests, "Too Many Requests: retry after 3600", time.Hour)
	}
}

func refuseOnDiscord(rw http.ResponseWriter, f fault) {
	failures := map[fault]fakediscord.Failure{
		lostRight: {Status: http.StatusForbidden, Code: 50013},
		thrownOut: {Status: http.StatusForbidden, Code: 50001},
		notFound:  {Status: http.StatusNotFound, Code: 10004},
		limited:   {Status: http.StatusTooManyRequests, Code: 20028, RetryAfter: time.Hour},
	}
	failure := failures[f]
	failure.Message = "refused"
	failure.Write(rw)
}
