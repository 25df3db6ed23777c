"""What the server does at each address; :data:`confidently.serve.http.api.ROUTES` lists them."""
