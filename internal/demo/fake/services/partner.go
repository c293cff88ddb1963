package services

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"herald/internal/core"
)

// maxSignatureAge is how far a request's timestamp may be from the service's clock, in either direction.
const maxSignatureAge = 60 * time.Second

// Partner is the partner API. It checks signatures. It composes the signed text itself from the members of the request,
// and so does not depend on how the caller encoded them.
type Partner struct {
	AppID     string
	SecretKey string
	// Now is the service's clock.
	Now func() time.Time

	dids   map[core.Identity]string
	logins map[string][]core.Login // by DID; every registered person has an entry
}

func newPartner(w World, appID, secretKey string) Partner {
	p := Partner{
		AppID:     appID,
		SecretKey: secretKey,
		Now:       time.Now,
		dids:      map[core.Identity]string{},
		logins:    map[string][]core.Login{},
	}
	for _, person := range []Person{w.Registered, w.Newcomer} {
		p.logins[person.DID] = nil
		for _, account := range person.Accounts {
			p.dids[account] = person.DID
		}
	}
	p.logins[w.Registered.DID] = w.Logins
	return p
}

// ServeHTTP answers the two endpoints.
func (p Partner) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Date", p.Now().UTC().Format(http.TimeFormat))
	answer := map[string]func(map[string]any) string{
		"POST /api/v1/partner/user/exists":          p.exists,
		"POST /api/v1/partner/user/dapps/login/log": p.loginHistory,
	}[r.Method+" "+r.URL.Path]
	refuse := func(status, code int, message string) { writeJSON(w, status, partnerAnswer(code, "null", message)) }
	contentType, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	inner, err := readInner(r)
	switch {
	case answer == nil:
		refuse(http.StatusNotFound, 40401, "no such endpoint")
	case contentType != "application/json":
		refuse(http.StatusUnsupportedMediaType, 40000, "the content type must be application/json")
	case err != nil:
		refuse(http.StatusBadRequest, 40000, err.Error())
	default:
		if err := p.authenticate(r, inner); err != nil {
			refuse(http.StatusUnauthorized, 40100, err.Error())
			return
		}
		writeJSON(w, http.StatusOK, answer(inner))
	}
}

// readInner returns the inner JSON object of a request: the body is a JSON object with a string that contains it.
func readInner(r *http.Request) (inner map[string]any, err error) {
	var outer struct {
		RequestBody *string `json:"requestBody"`
	}
	if json.NewDecoder(r.Body).Decode(&outer) != nil || outer.RequestBody == nil {
		return nil, errors.New("the body must be JSON with a string requestBody")
	}
	decoder := json.NewDecoder(strings.NewReader(*outer.RequestBody))
	decoder.UseNumber()
	if decoder.Decode(&inner) != nil {
		return nil, errors.New("requestBody must hold a JSON object")
	}
	return inner, nil
}

// authenticate returns an error unless the request has the app's ID, a current timestamp, and a signature with the
// app's secret key.
func (p Partner) authenticate(r *http.Request, inner map[string]any) error {
	if r.Header.Get("appid") != p.AppID {
		return errors.New("unknown appid")
	}
	timestamp := r.Header.Get("timestamp")
	millis, err := strconv.ParseInt(timestamp, 10, 64)
	age := p.Now().Sub(time.UnixMilli(millis)).Abs()
	if err != nil || age > maxSignatureAge {
		return errors.New("the timestamp must be Unix time in milliseconds, close to the time here")
	}
	signed, err := canonicalJSON(inner)
	if err != nil {
		return err
	}
	mac := hmac.New(sha256.New, []byte(p.SecretKey))
	mac.Write([]byte(timestamp + "POST" + r.URL.Path + signed))
	want := base64.StdEncoding.EncodeToString(mac.Sum(nil))
	if !hmac.Equal([]byte(want), []byte(r.Header.Get("sign"))) {
		return errors.New("wrong signature")
	}
	return nil
}

// canonicalJSON returns the JSON of inner that the caller must have signed. Its members are in alphabetical order.
// It has no empty members, no white space, and no escapes except those that JSON requires.
func canonicalJSON(inner map[string]any) (string, error) {
	nonEmpty := map[string]any{}
	for name, value := range inner {
		if value != nil && value != "" {
			nonEmpty[name] = value
		}
	}
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(nonEmpty); err != nil {
		return "", fmt.Errorf("spell the signed text: %w", err)
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}

// exists answers whether an account belongs to a registered person.
func (p Partner) exists(inner map[string]any) string {
	platform, _ := inner["platform"].(string)
	uid, _ := inner["platform_uid"].(string)
	did, known := p.dids[core.Identity{Platform: platform, UID: uid}]
	if !known {
		return partnerAnswer(0, "null", "success")
	}
	return partnerAnswer(0, fmt.Sprintf(`{"did":%q,"mid":%q}`, did, address("mid "+did).Hex()), "success")
}

// loginHistory answers with a person's logins. It lists the oldest first, because the API does not guarantee an order.
func (p Partner) loginHistory(inner map[string]any) string {
	did, _ := inner["did"].(string)
	logins, known := p.logins[did]
	if !known {
		return partnerAnswer(40400, "null", "no such user")
	}
	records := make([]string, len(logins))
	for i, login := range logins {
		records[len(logins)-1-i] = fmt.Sprintf(`{"dapp_name":%q,"login_platform":%q,"login_time":%d}`,
			login.Dapp, login.Platform, login.At.Unix())
	}
	return partnerAnswer(0, "["+strings.Join(records, ",")+"]", "success")
}

// partnerAnswer returns the body of an answer. data is JSON.
func partnerAnswer(code int, data, message string) string {
	return fmt.Sprintf(`{"code":%d,"data":%s,"message":%q}`, code, data, message)
}
