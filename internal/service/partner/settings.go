package partner

import (
	"errors"
	"strconv"
	"time"

	"herald/internal/config"
	"herald/internal/secret"
)

// Settings are what an operator chooses.
type Settings struct {
	// URL is the API's origin and perhaps a path prefix, without a slash at its end; empty: there is no partner API.
	// The signature covers the prefix, so a proxy must not cut it off.
	URL       string
	AppID     string
	SecretKey secret.Value
	// NotFoundCodes are the codes of the existence check that mean "no such user".
	NotFoundCodes []string
	// ExistsTTL is how long an existence check is fresh.
	ExistsTTL time.Duration
	// LoginsTTL is how long a login history is fresh.
	LoginsTTL time.Duration
}

// IsOn reports whether there is a partner API to ask.
func (s Settings) IsOn() bool { return s.URL != "" }

// Table declares the settings that fill s.
func (s *Settings) Table() []config.Setting {
	return []config.Setting{
		{
			Heading: "Partner API",
			Name:    "PARTNER_BASE_URL",
			Example: "https://partner.example.org",
			Needs:   []string{"PARTNER_APP_ID", "PARTNER_SECRET_KEY"},
			Comment: "URL of the partner API; /api/v1/partner/... is appended.",
			Set:     config.Field(&s.URL, config.BaseURLWithout("/api/v1/partner")),
		},
		{
			Name:    "PARTNER_APP_ID",
			Example: "my-app-id",
			Needs:   []string{"PARTNER_BASE_URL", "PARTNER_SECRET_KEY"},
			Set:     config.Field(&s.AppID, config.Visible),
			Comment: "The application ID that the partner gave you.",
		},
		{
			Name:    "PARTNER_SECRET_KEY",
			Secret:  true,
			Example: "the-key-that-came-with-the-app-id",
			Needs:   []string{"PARTNER_BASE_URL", "PARTNER_APP_ID"},
			Comment: "The key that signs requests. It came with the application ID.",
			Set:     config.Field(&s.SecretKey, config.Hidden(config.Text)),
		},
		{
			Name:    "PARTNER_NOT_FOUND_CODES",
			Example: "10004,10005",
			Set:     config.Field(&s.NotFoundCodes, config.ListOf(parseCode)),
			Comment: "Codes of the existence check that mean \"no such user\". Any other code but 0 is an error: " +
				"members read \"Registration unavailable\". Unset: none.",
		},
		{
			Name:    "EXISTS_TTL",
			Default: "60s",
			Set:     config.Field(&s.ExistsTTL, config.Duration),
			Comment: "How long an existence check is fresh.",
		},
		{
			Name:    "LOGINS_TTL",
			Default: "60s",
			Set:     config.Field(&s.LoginsTTL, config.Duration),
			Comment: "How long a login history is fresh.",
		},
	}
}

// responseCode reads a code of the API.
var responseCode = config.Matching(`[A-Za-z0-9_.-]{1,64}`, "a code of letters, digits and _.-")

// parseCode reads a responseCode other than 0.
func parseCode(value string) (string, error) {
	if n, err := strconv.ParseFloat(value, 64); err == nil && n == 0 {
		return "", errors.New("is 0, which means success")
	}
	return responseCode(value)
}
