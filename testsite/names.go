package testsite

// defaultDomain is where the shop is unless Config says otherwise.
const defaultDomain = "stormline.test"

// Paths of the Company's machine-readable addresses.
const (
	joinPath      = "/poppy/browser-session"
	endpointPath  = "/poppy/operations"
	feedbackPath  = "/poppy/feedback"
	mcpPath       = "/mcp"
	elsewherePath = "/elsewhere" // where no credential should arrive
)

// names are the Company's hosts and what is found there. The issuer's host is below the shop's; the partner's is another
// site for a browser.
type names struct{ domain string }

func (n names) shopHost() string    { return n.domain }
func (n names) issuerHost() string  { return "auth." + n.domain }
func (n names) shopOrigin() string  { return "https://" + n.shopHost() }
func (n names) partnerHost() string { return "partner-" + n.domain }
func (n names) partner() string     { return "https://" + n.partnerHost() }
func (n names) issuer() string      { return "https://" + n.issuerHost() }

func (n names) joinURL() string      { return n.shopOrigin() + joinPath }
func (n names) endpointURL() string  { return n.shopOrigin() + endpointPath }
func (n names) feedbackURL() string  { return n.shopOrigin() + feedbackPath }
func (n names) openAPIURL() string   { return n.shopOrigin() + apiPath + "/openapi.json" }
func (n names) mcpURL() string       { return n.shopOrigin() + mcpPath }
func (n names) elsewhereURL() string { return n.issuer() + elsewherePath }

// mcpMeta is where the MCP server's document is (RFC 9728, section 3.1).
func (n names) mcpMeta() string {
	return n.shopOrigin() + "/.well-known/oauth-protected-resource" + mcpPath
}
