package config

import "testing"

func TestPublicHTTPIsPlainHTTPToTheInternet(t *testing.T) {
	for _, address := range []string{
		"http://partner.example.org",
		"http://PARTNER.example.org.:8080/x",
		"http://8.8.8.8",
		"http://[2001:4860:4860::8888]:80",
	} {
		if !PublicHTTP(address) {
			t.Errorf("%s is not public HTTP", address)
		}
	}
}

func TestHTTPSAndPrivateHostsAreNotPublicHTTP(t *testing.T) {
	for _, address := range []string{
		"https://partner.example.org",
		"http://localhost:1",
		"http://a.localhost",
		"http://partner",
		"http://partner.:80",
		"http://127.0.0.1:1",
		"http://10.1.2.3",
		"http://192.168.1.1",
		"http://169.254.1.1",
		"http://[::1]",
		"http://[fd00::1]",
		"http://[fe80::1%25eth0]",
		"http://partner.default.svc",
		"http://partner.default.svc.cluster.local",
		"http://host.docker.internal",
	} {
		if PublicHTTP(address) {
			t.Errorf("%s is public HTTP", address)
		}
	}
}
