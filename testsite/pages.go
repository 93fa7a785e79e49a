package testsite

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/papaver-agent/papaver/testsite/authserver"
	"github.com/papaver-agent/papaver/testsite/wire"
)

//go:embed assets pages
var files embed.FS

// Bounds of what a visitor types.
const (
	maxPageBody = 16 << 10 // bytes of a request
	maxField    = 120      // characters of one field
)

// securityPolicy lets pages use this site's own files and nothing else.
const securityPolicy = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// page is what a template gets.
type page struct {
	Title   string
	Agent   string // whose browser this is, if it is joined
	Account string // the name of the account it is signed in to
	Issuer  bool   // the page is on the issuer's host
	Auth    string // the issuer's origin
	Path    string
	Content any
}

// pages are the templates by name, each with the layout around it.
type pages map[string]*template.Template

// loadPages parses the embedded templates.
func loadPages() (pages, error) {
	names, err := fs.Glob(files, "pages/*.html")
	if err != nil {
		return nil, err
	}
	all := pages{}
	for _, name := range names {
		base := strings.TrimSuffix(strings.TrimPrefix(name, "pages/"), ".html")
		if base == "layout" {
			continue
		}
		t, err := template.New("layout.html").Funcs(template.FuncMap{"date": humanDate, "within": strings.HasPrefix}).ParseFS(files, "pages/layout.html", name)
		if err != nil {
			return nil, fmt.Errorf("testsite: page %s: %w", base, err)
		}
		all[base] = t
	}
	return all, nil
}

// show answers with a page. It sets no caching header that the caller set.
func (p pages) show(w http.ResponseWriter, status int, name string, data page) {
	var b bytes.Buffer
	t, found := p[name]
	if !found || t.Execute(&b, data) != nil {
		http.Error(w, "internal error", http.StatusInternalServerError)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	if h.Get("Content-Security-Policy") == "" {
		h.Set("Content-Security-Policy", securityPolicy)
	}
	h.Set("X-Frame-Options", "DENY")
	h.Set("X-Content-Type-Options", "nosniff")
	if h.Get("Referrer-Policy") == "" {
		h.Set("Referrer-Policy", "same-origin")
	}
	if h.Get("Cache-Control") == "" {
		h.Set("Cache-Control", "no-cache")
	}
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes())
}

func (s *Site) pageOf(r *http.Request, title string, content any) page {
	p := page{Title: title, Path: r.URL.Path, Auth: s.issuer(), Content: content}
	if j, found := s.visit(r); found && hostOf(r) == s.shopHost() {
		p.Agent = j.agent
		p.Account, _ = s.accountName(j.owner.account)
	}
	return p
}

// shopHandler answers for the shop.
func (s *Site) shopHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/poppy.json", s.poppyDocument)
	mux.HandleFunc("GET /.well-known/oauth-protected-resource", s.resourceDocument)
	mux.HandleFunc(joinPath, s.join)
	if s.profile.Feedback {
		mux.HandleFunc("POST "+feedbackPath, s.feedback)
	}
	if s.profile.SessionTokens {
		mux.HandleFunc("POST "+mcpPath, s.mcpServer)
		mux.HandleFunc("GET /.well-known/oauth-protected-resource"+mcpPath, s.mcpDocument)
	} else {
		mux.HandleFunc(endpointPath, s.endpoint)
	}
	mux.HandleFunc("GET /leave", s.leave)
	mux.HandleFunc("GET /account", s.accountPage)
	mux.HandleFunc("GET /{$}", s.view("home", companyName, func(account) any { return catalogue }))
	mux.HandleFunc("GET /products/{sku}", s.productPage)
	mux.HandleFunc("GET /orders", s.view("orders", "Your orders", s.order))
	mux.HandleFunc("GET /orders/"+orderID, s.view("order", "Order "+orderID, s.order))
	mux.HandleFunc("POST /orders/"+orderID+"/exchange", s.exchange)
	mux.HandleFunc("GET /account/address", s.view("address", "Delivery address", func(a account) any { return a }))
	mux.HandleFunc("POST /account/address", s.address)
	mux.HandleFunc("GET /membership", s.view("membership", "Trail Club", s.membership))
	mux.HandleFunc("POST /membership/cancel", s.cancelMembership)
	mux.HandleFunc("GET /gift", s.view("gift", "Gift wrap", s.order))
	mux.HandleFunc("POST /gift", s.gift)
	mux.HandleFunc("GET /gift/status", s.giftStatus)
	mux.Handle("GET /assets/", http.StripPrefix("/", assets()))
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		s.pages.show(w, http.StatusNotFound, "missing", s.pageOf(r, "Page not found", nil))
	})
	// Requests of other sites' pages change nothing here; the join is one by design, and signed.
	protection := http.NewCrossOriginProtection()
	protection.AddInsecureBypassPattern(joinPath)
	site, api := protection.Handler(options(mux)), options(s.apiHandler())
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, apiPath+"/") {
			api.ServeHTTP(w, r)
			return
		}
		if r.URL.Path != joinPath {
			s.forgetEnded(w, r)
		}
		site.ServeHTTP(w, r)
	})
}

// assets serves the embedded style sheet, scripts and pictures.
func assets() http.Handler {
	server := http.FileServerFS(files)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/") {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Cache-Control", "max-age=300")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		server.ServeHTTP(w, r)
	})
}

// view serves a page whose content comes from the visitor's account.
func (s *Site) view(name, title string, content func(account) any) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if v, _ := s.visit(r); name != "home" && !v.may(authserver.ScopeRead) {
			s.tooFew(w, r, authserver.ScopeRead)
			return
		}
		s.pages.show(w, http.StatusOK, name, s.pageOf(r, title, content(s.shop.account(s.visitor(r)))))
	}
}

// visitor gives whose account a request sees.
func (s *Site) visitor(r *http.Request) owner {
	j, _ := s.visit(r)
	return j.owner
}

func (s *Site) productPage(w http.ResponseWriter, r *http.Request) {
	p, found := productOf(r.PathValue("sku"))
	if !found {
		s.pages.show(w, http.StatusNotFound, "missing", s.pageOf(r, "Page not found", nil))
		return
	}
	s.pages.show(w, http.StatusOK, "product", s.pageOf(r, p.Name, p))
}

// orderView is the sample order as its pages show it.
type orderView struct {
	account
	OrderID, ItemID, Size string
	Item                  product
	Models                []product
	Sizes                 []string
	Gift                  string
}

func (s *Site) order(a account) any {
	return orderView{a, orderID, itemID, itemSize, catalogue[0], exchangeable(), sizes(), dollars(s.shop.price(kindGift, giftPrice))}
}

func (s *Site) membership(a account) any {
	return struct {
		account
		ID, PaidUntil string
	}{a, membershipID, s.shop.ends}
}

// exchange is the order page's form.
func (s *Site) exchange(w http.ResponseWriter, r *http.Request) {
	form, ok := s.form(w, r)
	if !ok {
		return
	}
	sku, size := form.Get("model"), form.Get("size")
	known := false
	for _, p := range exchangeable() {
		known = known || p.SKU == sku
	}
	fits := false
	for _, each := range sizes() {
		fits = fits || each == size
	}
	if !known || !fits || sku == itemSKU && size == itemSize {
		s.invalid(w, r, "Please choose another model or size than the one you have.", "/orders/"+orderID)
		return
	}
	s.guard(w, r, guarded{
		ask: exchangeAsk(sku, size), Doing: "This exchange", Done: "Exchange confirmed",
		Result: "We are sending you the " + variant(sku, size) + ". A prepaid label for the " + variant(itemSKU, itemSize) + " is in the parcel.",
		Back:   "/orders/" + orderID, Action: "/orders/" + orderID + "/exchange", Button: "Exchange",
		Fields: map[string]string{"model": sku, "size": size},
	}, form.Get("confirmed") == "yes")
}

// address is the address page's fetch.
func (s *Site) address(w http.ResponseWriter, r *http.Request) {
	m, ok := s.script(w, r)
	if !ok {
		return
	}
	d := deliveryAddress{m["street"], m["city"], m["postal_code"]}
	if d.Street == "" || d.City == "" || d.PostalCode == "" {
		s.invalid(w, r, "Street, city and postal code are needed.", "/account/address")
		return
	}
	s.guard(w, r, guarded{
		ask: addressAsk(d), Doing: "This address change", Done: "Address saved",
		Result: "Future orders go to " + d.Street + ", " + d.City + " " + d.PostalCode + ".", Back: "/account/address",
	}, m["confirmed"] == "yes")
}

// cancelMembership is the membership page's form, and the Continue button of its waiting page.
func (s *Site) cancelMembership(w http.ResponseWriter, r *http.Request) {
	form, ok := s.form(w, r)
	if !ok {
		return
	}
	s.guard(w, r, guarded{
		ask: membershipAsk(), Doing: "This cancellation", Done: "Membership cancelled",
		Result: "Your Trail Club membership ends on " + humanDate(s.shop.ends) + ". You keep member prices until then.",
		Back:   "/membership", Action: "/membership/cancel", Button: "Cancel membership", Continue: true,
	}, form.Get("confirmed") == "yes")
}

// gift is the gift page's fetch, which the page makes again by itself.
func (s *Site) gift(w http.ResponseWriter, r *http.Request) {
	m, ok := s.script(w, r)
	if !ok {
		return
	}
	if m["message"] == "" {
		s.invalid(w, r, "Please write a message for the card.", "/gift")
		return
	}
	s.guard(w, r, guarded{
		ask: giftAsk(m["message"]), Doing: "Gift wrap", Done: "Gift wrap added",
		Result: "We wrap it by hand and put your message on the card.", Back: "/gift",
		StatusURL: "/gift/status?" + url.Values{"message": {m["message"]}}.Encode(),
	}, m["confirmed"] == "yes")
}

// giftStatus tells a waiting page how its request stands. It performs nothing and returns no reference.
func (s *Site) giftStatus(w http.ResponseWriter, r *http.Request) {
	j, found := s.visit(r)
	if !found {
		writeJSON(w, http.StatusNotFound, pageAnswer{Error: "not_found"})
		return
	}
	writeJSON(w, http.StatusOK, pageAnswer{Status: s.ops.status(j.owner, giftAsk(r.URL.Query().Get("message")))})
}

// form reads a page's form.
func (s *Site) form(w http.ResponseWriter, r *http.Request) (url.Values, bool) {
	r.Body = http.MaxBytesReader(w, r.Body, maxPageBody)
	if err := r.ParseForm(); err != nil {
		s.invalid(w, r, "The form could not be read.", "/")
		return nil, false
	}
	return r.PostForm, true
}

// script reads a JSON object of short texts that a script of ours sent.
func (s *Site) script(w http.ResponseWriter, r *http.Request) (map[string]string, bool) {
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxPageBody))
	if err != nil {
		s.invalid(w, r, "The request is too large.", "/")
		return nil, false
	}
	m, err := wire.Members(data)
	if err != nil {
		s.invalid(w, r, "The request could not be read.", "/")
		return nil, false
	}
	values := map[string]string{}
	for name := range m {
		value, ok := wire.Text(m, name)
		value = strings.Join(strings.Fields(value), " ")
		if !ok || utf8.RuneCountInString(value) > maxField || strings.ContainsFunc(value, unicode.IsControl) {
			s.invalid(w, r, "A field is too long or has characters we can't print.", "/")
			return nil, false
		}
		values[name] = value
	}
	return values, true
}

// invalid answers a request that asks for nothing the shop can do.
func (s *Site) invalid(w http.ResponseWriter, r *http.Request, message, back string) {
	if wantsJSON(r) {
		writeJSON(w, http.StatusUnprocessableEntity, pageAnswer{Error: "invalid", Message: message})
		return
	}
	s.pages.show(w, http.StatusUnprocessableEntity, "invalid", s.pageOf(r, "That didn't work", struct{ Message, Back string }{message, back}))
}
