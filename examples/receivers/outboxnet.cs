#:sdk Microsoft.NET.Sdk.Web
#:property PublishAot=false
// A receiver as OutboxNet's guide shows it, corrected; it needs .NET 10 and no package:
//
//     WEBHOOK_SECRET='…' dotnet run outboxnet.cs 9000
using System.Security.Cryptography;
using System.Text;

var webhookSecret = Environment.GetEnvironmentVariable("WEBHOOK_SECRET")
    ?? throw new InvalidOperationException("set WEBHOOK_SECRET to what the sender signs with");
var handled = new HashSet<string>();  // in a real service: a table, written in the transaction that does the work

// [receive]
async Task<IResult> Receive(HttpRequest request)
{
    // The bytes as they came: text that was decoded and encoded again may not be the same.
    using var rawBody = new MemoryStream();
    await request.Body.CopyToAsync(rawBody);
    var expected = "sha256=" + Convert.ToHexString(
        HMACSHA256.HashData(Encoding.UTF8.GetBytes(webhookSecret), rawBody.ToArray())).ToLowerInvariant();
    var received = request.Headers["X-Outbox-Signature"].ToString();
    if (!CryptographicOperations.FixedTimeEquals(
            Encoding.UTF8.GetBytes(expected), Encoding.UTF8.GetBytes(received)))
        return Results.Unauthorized();
    var key = $"{request.Headers["X-Outbox-Message-Id"]}:{request.Headers["X-Outbox-Subscription-Id"]}";
    lock (handled)
        return Results.Text(handled.Add(key) ? "handled" : "duplicate");
}
// [/receive]

var builder = WebApplication.CreateBuilder();
builder.Logging.ClearProviders();
var app = builder.Build();
app.Urls.Add($"http://127.0.0.1:{(args.Length > 0 ? args[0] : "0")}");
app.MapPost("/webhooks", Receive);
await app.StartAsync();
Console.WriteLine($"listening on {app.Urls.First()}/");
await app.WaitForShutdownAsync();
