//go:build speed

package speed

import (
	"crypto/ed25519"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"herald/internal/app/e2e/e2etest"
)

const (
	discordToken  = "MTIzNDU2Nzg5MDEyMzQ1Njc4.speed.of-a-bot-token"
	applicationID = "1300000000000000000"
	// discordEpoch is the first moment of snowflakes in Unix milliseconds.
	// https://discord.com/developers/docs/reference#snowflakes
	discordEpoch = 1_420_070_400_000
	// numberBits are those of an interaction's snowflake that hold its number.
	numberBits = 22
	// interactionConns is on how many connections interactions are posted.
	interactionConns = 100
)

// discord is Discord's REST API and either its gateway or the posts to an
// interactions endpoint.
type discord struct {
	server
	byHTTP     bool
	public     ed25519.PublicKey
	private    ed25519.PrivateKey
	signed     map[int64][]byte // the posts of the load
	writing    sync.Mutex
	connection *websocket.Conn // that is READY, guarded by writing
	sequence   int64           // guarded by writing
}

func newDiscord(byHTTP bool) (*discord, error) {
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		return nil, err
	}
	d := &discord{byHTTP: byHTTP, public: public, private: private}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /gateway/", d.serveGateway)
	mux.HandleFunc("GET /api/v9/gateway", d.tellGateway)
	mux.HandleFunc("GET /api/v9/gateway/bot", d.tellGateway)
	mux.HandleFunc("GET /api/v9/applications/@me", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"id":%q}`, applicationID)
	})
	mux.HandleFunc("/api/v9/applications/{id}/commands", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, `[]`) })
	mux.HandleFunc("POST /api/v9/interactions/{id}/{token}/callback", d.callback)
	return d, d.listen(mux)
}

func (d *discord) settings() []string {
	settings := []string{"DISCORD_BOT_TOKEN=" + discordToken, "DISCORD_API_URL=" + d.url}
	if d.byHTTP {
		settings = append(settings, "DISCORD_PUBLIC_KEY="+hex.EncodeToString(d.public))
	}
	return settings
}

// begin signs all posts of l now, which takes longer than to make them.
func (d *discord) begin(l *load) (err error) {
	d.load.Store(l)
	if !d.byHTTP {
		return nil
	}
	d.signed = map[int64][]byte{}
	for i := range l.states {
		number := l.first + int64(i)
		d.signed[number] = d.post(number)
	}
	d.callers, err = dialCallers(d.address, interactionConns, len(l.states), func(number int64, status int, body []byte, err error) {
		d.keepFirst(body)
		if err == nil && status != http.StatusOK {
			err = fmt.Errorf("status %d", status)
		}
		if err == nil {
			err = judge(body, true)
		}
		l.answer(number, err)
	})
	return err
}

// post is a signed request with an interaction.
func (d *discord) post(number int64) []byte {
	body := interaction(number)
	timestamp := strconv.FormatInt(time.Now().Unix(), 10)
	signature := ed25519.Sign(d.private, append([]byte(timestamp), body...))
	return fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: bot.example\r\nContent-Type: application/json\r\nUser-Agent: Discord-Interactions/1.0\r\n"+
		"X-Signature-Timestamp: %s\r\nX-Signature-Ed25519: %x\r\nContent-Length: %d\r\n\r\n%s",
		e2etest.InteractionsPath, timestamp, signature, len(body), body)
}

func (d *discord) ask(number int64) {
	if d.byHTTP {
		d.callers.due <- call{number, d.signed[number]}
		return
	}
	d.writing.Lock()
	defer d.writing.Unlock()
	d.sequence++
	event := fmt.Appendf(nil, `{"t":"INTERACTION_CREATE","s":%d,"op":0,"d":%s}`, d.sequence, interaction(number))
	if d.connection == nil || d.connection.WriteMessage(websocket.TextMessage, event) != nil {
		d.load.Load().fail(errors.New("no gateway connection"))
	}
}

// interaction is a /price that somebody asks in a server.
func interaction(number int64) []byte {
	id := strconv.FormatInt((time.Now().UnixMilli()-discordEpoch)<<numberBits|number, 10)
	user, channel := 700_000_000_000_000_000+number%users, 800_000_000_000_000_000+number%chats
	return fmt.Appendf(nil, `{"version":1,"type":2,"token":"aW50ZXJhY3Rpb246%s","id":%q,"application_id":%q,`+
		`"channel_id":"%d","guild_id":"900000000000000000","locale":"en-US","guild_locale":"en-US","context":0,"app_permissions":"2248473465835073",`+
		`"authorizing_integration_owners":{"0":"900000000000000000"},"entitlements":[],"attachment_size_limit":10485760,`+
		`"guild":{"id":"900000000000000000","locale":"en-US","features":["COMMUNITY","NEWS"]},`+
		`"channel":{"id":"%d","guild_id":"900000000000000000","name":"general","type":0,"position":1,"flags":0,"nsfw":false,"rate_limit_per_user":0,`+
		`"topic":null,"parent_id":null,"last_message_id":"1290000000000000000","permissions":"2248473465835073"},`+
		`"member":{"user":{"id":"%d","username":"ann_example","global_name":"Ann","discriminator":"0","avatar":"f1c2d3e4a5b697887766554433221100",`+
		`"avatar_decoration_data":null,"public_flags":0,"clan":null},"roles":["910000000000000001","910000000000000002"],"premium_since":null,`+
		`"permissions":"2248473465835073","pending":false,"nick":null,"mute":false,"joined_at":"2024-01-01T00:00:00.000000+00:00","flags":0,"deaf":false,`+
		`"communication_disabled_until":null,"avatar":null},"data":{"id":"1300000000000000001","name":"price","type":1,"options":[]}}`,
		id, id, applicationID, channel, channel, user)
}

// callback takes the first response to an interaction of the gateway, and
// refuses another, which a bot may try when it has not heard about the first.
func (d *discord) callback(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	d.keepFirst(body)
	l := d.load.Load()
	id, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
	number := id & (1<<numberBits - 1)
	if l.isAnswered(number) {
		w.WriteHeader(http.StatusBadRequest)
		io.WriteString(w, `{"code":40060,"message":"Interaction has already been acknowledged."}`)
		return
	}
	l.answer(number, judge(body, err == nil && strings.HasSuffix(r.PathValue("token"), r.PathValue("id"))))
	w.WriteHeader(http.StatusNoContent)
}

func (d *discord) tellGateway(w http.ResponseWriter, _ *http.Request) {
	fmt.Fprintf(w, `{"url":"ws%s/gateway/","shards":1,"session_start_limit":{"total":1000,"remaining":1000,"reset_after":0,"max_concurrency":1}}`,
		strings.TrimPrefix(d.url, "http"))
}

// serveGateway is one connection: Hello, READY and acknowledged heartbeats.
func (d *discord) serveGateway(w http.ResponseWriter, r *http.Request) {
	ws, err := (&websocket.Upgrader{}).Upgrade(w, r, nil)
	if err != nil {
		return
	}
	defer ws.Close()
	d.send(ws, `{"op":10,"d":{"heartbeat_interval":41250}}`)
	for {
		_, raw, err := ws.ReadMessage()
		if err != nil {
			return
		}
		var packet struct {
			Op int `json:"op"`
		}
		_ = json.Unmarshal(raw, &packet) // what is malformed is answered as an unknown opcode
		switch packet.Op {
		case 1:
			d.send(ws, `{"op":11}`)
		case 2:
			d.send(ws, fmt.Sprintf(`{"t":"READY","s":1,"op":0,"d":{"v":9,"user":{"id":%q,"username":"herald","bot":true},`+
				`"session_id":"speed","resume_gateway_url":"ws%s/gateway/","guilds":[],"application":{"id":%q}}}`,
				applicationID, strings.TrimPrefix(d.url, "http"), applicationID))
			d.writing.Lock()
			d.connection, d.sequence = ws, 1
			d.writing.Unlock()
		default:
			d.send(ws, `{"op":9,"d":false}`)
		}
	}
}

func (d *discord) send(ws *websocket.Conn, packet string) {
	d.writing.Lock()
	defer d.writing.Unlock()
	_ = ws.WriteMessage(websocket.TextMessage, []byte(packet)) // a broken connection shows in reading
}
