package store

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"regexp"
	"strings"
	"time"

	"github.com/gomodule/redigo/redis"

	"herald/internal/ratelimit"
)

// probedAddress is the address that Probe saves.
const probedAddress = "probe"

// Probe makes each kind of call that the bot makes, on keys that only probes use. It returns an error if Redis does not
// answer or refuses a call, as a read-only replica does. The error names the call and what is wrong, but contains
// neither the URL nor the server's text.
//
// After a failure, Redis counts as unavailable until a probe of watch succeeds. A successful Probe does not end an
// outage by itself. Probe blocks for at most the time of ten calls.
//
// Failed probes do not leave more and more keys. The keys of the answer, the update and the limit have random names,
// because several replicas may probe at once, and expire within a minute. The hash of addresses never expires. So all
// probes of a bot share one hash: if a probe does not reach the end, the next probe deletes the address.
func (r *Redis) Probe(ctx context.Context) error {
	r.dropIdle() // Connections that are idle now may be dead.
	id := rand.Text()
	answer := r.key("probe", "answer "+id)
	update := r.key("probe", "update "+id)
	limit := r.limitArgs(0, []ratelimit.Limit{{Key: "probe " + id, Burst: 1, Every: time.Millisecond}})
	addresses := redisBucket{redis: r, key: r.key("probe", "addresses")}
	saveAddress := addresses.replaceCall("", nil, []byte(probedAddress))
	deleteAddress := addresses.replaceCall("", []byte(probedAddress), nil)
	for _, step := range []struct {
		what string
		call call
	}{
		{"write to redis", command("SET", answer, id, "PX", 1000)},
		{"read from redis", command("GET", answer)},
		{"limit in redis", limitCall(limit)},
		{"claim an update in redis", claimCall(update, id, nil)},
		{"release an update in redis", deleteCall(update, id)},
		// If an earlier probe has left its address, the script cannot save another one.
		{"delete an address from redis", deleteAddress},
		{"save an address in redis", saveAddress},
		{"read an address in redis", addresses.loadCall("")},
		{"list the addresses in redis", addresses.scanCall("0")},
		{"delete an address from redis", deleteAddress},
	} {
		_, err := r.do(ctx, step.call)
		if err != nil {
			r.up.Store(false)
			return fmt.Errorf("%s: %s", step.what, reason(err))
		}
	}
	return nil
}

// Durability returns a warning for each way in which Redis may lose saved addresses: it may write nothing to disk, or
// evict them. If something cannot be checked, a warning says which right the Redis user needs. Each warning is the rest
// of a sentence about Redis, such as "it writes nothing to disk". Durability blocks for at most the time of two calls.
func (r *Redis) Durability(ctx context.Context) (warnings []string) {
	info, err := redis.String(r.do(ctx, command("INFO")))
	if err != nil {
		return []string{fmt.Sprintf("whether it keeps saved addresses could not be checked: %s; "+
			"give its user the right +info", reason(err))}
	}
	for _, warning := range []string{r.diskWarning(ctx, info), evictionWarning(info)} {
		if warning != "" {
			warnings = append(warnings, warning)
		}
	}
	return warnings
}

// diskWarning returns a warning if Redis writes nothing to disk.
func (r *Redis) diskWarning(ctx context.Context, info string) string {
	if strings.Contains(info, "aof_enabled:1") {
		return ""
	}
	found, err := redis.StringMap(r.do(ctx, command("CONFIG", "GET", "save")))
	if err != nil {
		return fmt.Sprintf("it has appendonly off, and whether it saves snapshots could not be checked: %s; "+
			"set appendonly yes, or give its user the right +config|get", reason(err))
	}
	if found["save"] == "" {
		return "it writes nothing to disk, so its restart loses saved addresses: set appendonly yes"
	}
	return ""
}

// evictionWarning returns a warning if Redis may evict keys that never expire.
func evictionWarning(info string) string {
	_, policy, known := strings.Cut(info, "maxmemory_policy:")
	policy, _, _ = strings.Cut(policy, "\r\n")
	if !known {
		return "it does not tell its maxmemory-policy, which must not be one of allkeys-*"
	}
	if strings.HasPrefix(policy, "allkeys-") {
		return "its maxmemory-policy may delete saved addresses when memory is short: set noeviction or volatile-lru"
	}
	return ""
}

// reason says why a call failed: the server's error code, or the kind of failure. It contains no other text of the
// server.
func reason(err error) string {
	var reply redis.Error
	var timeout net.Error
	var certificate *tls.CertificateVerificationError
	switch {
	case errors.As(err, &certificate):
		return "its certificate is not trusted"
	case errors.Is(err, context.Canceled):
		return "interrupted"
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return "no answer in time"
	case errors.As(err, &reply):
		return refusal(reply.Error())
	}
	return "no connection"
}

// errorCode matches an error code of Redis, such as READONLY.
var errorCode = regexp.MustCompile(`^[A-Z]+$`)

// refusal says that the server refused, with the error code if the text of its error reply begins with one.
func refusal(text string) string {
	// Since Redis 7, the error of a script that lacks a right does not begin with a code.
	for _, part := range []string{"user executing the script can't", "ACL failure in script"} {
		if strings.Contains(text, part) {
			return "refused with NOPERM"
		}
	}
	code, _, _ := strings.Cut(text, " ")
	if errorCode.MatchString(code) {
		return "refused with " + code
	}
	return "refused"
}
