#include "tools/command.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <utility>

#include "support/diagnostic.h"
#include "tools/output.h"

namespace tarsia::tools {

struct Command::Impl {
  std::string name;
  CLI::App app;
  std::vector<std::string> value_or_flag;  // names of options whose value is optional
};

namespace {

constexpr size_t kHelpColumn = 22;

// CLI11 indents the text after a newline.
std::string WrapHelp(std::string_view text) { return Wrap(text, 100 - kHelpColumn); }

}  // namespace

Command::Command(const std::string& name, std::string summary,
                 const std::vector<std::string>& examples)
    : impl_(std::make_unique<Impl>()) {
  impl_->name = "tarsia " + name;
  CLI::App& app = impl_->app;
  app.name(impl_->name);
  app.description(std::move(summary));
  app.get_formatter()->column_width(kHelpColumn);
  app.set_help_flag("-h,--help", "Print this help");
  std::string footer = examples.size() == 1 ? "Example:" : "Examples:";
  for (const std::string& example : examples) footer += "\n  " + example;
  app.footer(footer);
}

Command::~Command() = default;

void Command::Positional(const char* name, std::string* out, const char* help) {
  impl_->app.add_option(name, *out, WrapHelp(help))->type_name("")->required();
}

void Command::MaybePositional(const char* name, std::string* out, const char* help) {
  impl_->app.add_option(name, *out, WrapHelp(help))->type_name("");
}

void Command::Positionals(const char* name, std::vector<std::string>* out, const char* help) {
  impl_->app.add_option(name, *out, WrapHelp(help))->type_name("")->required();
}

void Command::Flag(const char* names, bool* out, const char* help) {
  impl_->app.add_flag(names, *out, WrapHelp(help));
}

void Command::Value(const char* names, const char* what, std::string* out, const char* help) {
  impl_->app.add_option(names, *out, WrapHelp(help))->type_name(what);
}

void Command::Value(const char* names, const char* what, std::optional<std::string>* out,
                    const char* help) {
  impl_->app
      .add_option_function<std::string>(
          names, [out](const std::string& text) { *out = text; }, WrapHelp(help))
      ->type_name(what);
}

void Command::Number(const char* names, const char* what, uint32_t* out, const char* help) {
  impl_->app.add_option(names, *out, WrapHelp(help))->type_name(what);
}

void Command::Count(const char* names, const char* what, uint32_t* out, const char* help) {
  impl_->app.add_option(names, *out, WrapHelp(help))
      ->check([](const std::string& text) {
        const bool zero = text.find_first_not_of('0') == std::string::npos;
        return zero ? "`" + text + "` is too few; it must be at least 1" : std::string();
      })
      ->type_name(what);
}

void Command::Integer(const char* names, const char* what, std::optional<int64_t>* out,
                      const char* help) {
  impl_->app.add_option(names, *out, WrapHelp(help))->type_name(what);
}

void Command::Choice(const char* names, std::string* out, std::vector<std::string> words,
                     const char* help) {
  std::string what;
  for (const std::string& word : words) what += (what.empty() ? "" : "|") + word;
  impl_->app.add_option(names, *out, WrapHelp(help))
      ->check([words = std::move(words), what](const std::string& text) {
        const bool known = std::any_of(words.begin(), words.end(), [&](const std::string& word) {
          const size_t colon = word.find(':');
          return colon == std::string::npos ? text == word
                                            : text.starts_with(word.substr(0, colon + 1));
        });
        return known ? std::string() : "`" + text + "` is not one of " + what;
      })
      ->type_name(what);
}

void Command::Values(const char* names, const char* what, std::vector<std::string>* out,
                     const char* help) {
  impl_->app.add_option(names, *out, WrapHelp(help))->type_name(what)->allow_extra_args(false);
}

void Command::ValueOrFlag(const char* name, const char* what, std::optional<std::string>* out,
                          const char* help) {
  impl_->value_or_flag.emplace_back(name);
  const std::string shown = std::string("[=") + what + "]";
  impl_->app
      .add_option_function<std::string>(
          name, [out](const std::string& text) { *out = text == "*" ? std::string() : text; },
          WrapHelp(help))
      ->type_name(shown);
}

int Command::Misuse(const std::string& message, const std::string& help) const {
  PrintError(message, help.empty() ? "see `" + impl_->name + " --help`" : help);
  return kUsage;
}

std::optional<int> Command::Parse(const Args& args) {
  Args reversed(args.rbegin(), args.rend());
  for (std::string& arg : reversed) {
    // Otherwise such an option would take the next argument as its value.
    const auto& bare = impl_->value_or_flag;
    if (std::find(bare.begin(), bare.end(), arg) != bare.end()) arg += "=*";
  }
  CLI::App& app = impl_->app;
  try {
    app.parse(reversed);
    return std::nullopt;
  } catch (const CLI::CallForHelp&) {
    PrintOut(app.help());
    return kDone;
  } catch (const CLI::ExtrasError&) {
    const auto extra = app.remaining();
    const std::string first = extra.empty() ? "" : extra.front();
    std::vector<std::string> names;
    for (const CLI::Option* option : app.get_options()) {
      for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    }
    const std::vector<std::string_view> views(names.begin(), names.end());
    if (first.substr(0, 1) != "-") return Misuse("unexpected argument `" + first + "`");
    return Misuse("unknown option `" + first + "`",
                  DidYouMean(first.substr(0, first.find('=')), views));
  } catch (const CLI::ArgumentMismatch& error) {
    // "--set: 1 required NAME=V missing", "--limit: At most 1 required but received 2"
    const std::string_view text = error.what();
    const bool twice = text.find("received") != std::string_view::npos;
    return Misuse(std::string(text.substr(0, text.find(':'))) +
                  (twice ? " is given twice" : " needs a value"));
  } catch (const CLI::ConversionError& error) {
    const std::string_view text = error.what();  // "Could not convert: --random = x"
    const size_t colon = text.find(": ");
    return Misuse("this is not a number: " + std::string(text.substr(colon + 2)));
  } catch (const CLI::ParseError& error) {
    return Misuse(error.what());
  }
}

}  // namespace tarsia::tools
