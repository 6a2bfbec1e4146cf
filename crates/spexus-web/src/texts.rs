//! Every word the pages say, in both languages: one table, and a text without its translation does not compile. `{}` stands for
//! what is put in by [`fill`].

//= specs/spexus-web.md#languages
//# Every text of a page MUST exist in every language, with the same places for values.
macro_rules! texts {
    ($($name:ident: $english:literal, $russian:literal;)*) => {
        /// The texts of one language.
        #[derive(Debug)]
        pub(crate) struct Texts {
            $(pub(crate) $name: &'static str,)*
        }

        /// In English.
        pub(crate) static ENGLISH: Texts = Texts { $($name: $english,)* };

        /// In Russian.
        pub(crate) static RUSSIAN: Texts = Texts { $($name: $russian,)* };

        #[cfg(test)]
        const TABLE: &[(&str, &str, &str)] = &[$((stringify!($name), $english, $russian),)*];
    };
}

#[rustfmt::skip]
texts! {
    // The frame
    skip: "Skip to content", "К содержанию";
    main_navigation: "Main", "Главное";
    where_you_are: "Where you are", "Где вы";
    menu: "Menu", "Меню";
    home: "Home", "Начало";
    search_or_command: "Search or run a command", "Поиск или команда";
    change_theme: "Change theme", "Сменить тему";
    profile_of: "{}: profile", "{}: профиль";
    sign_out: "Sign out", "Выйти";
    administration: "Administration", "Управление";
    connect_agent: "Connect an agent", "Подключить агента";
    overview: "Overview", "Обзор";
    document: "Document", "Документ";
    tree: "Tree", "Дерево";
    board: "Board", "Доска";
    table: "Table", "Таблица";
    matrix: "Matrix", "Матрица";
    graph: "Graph", "Граф";
    traceability: "Traceability", "Трассировка";
    reviews: "Reviews", "Рецензии";
    baselines: "Baselines", "Базовые версии";
    connection_lost: "The connection is lost. Trying again; nothing you typed is lost.", "Связь потеряна. Пробуем снова; введённое не пропадёт.";
    slow: "This takes longer than usual.", "Это длится дольше обычного.";

    // Signing in
    sign_in: "Sign in", "Войти";
    user_name: "User name", "Имя пользователя";
    password: "Password", "Пароль";
    lead: "What the product must do, and the proof that it does.", "Что продукт обязан делать, и доказательства, что он это делает.";
    signed_out: "You are signed out. What you typed is kept in this browser and will be there.", "Вы вышли. Введённое сохранено в этом браузере и будет на месте.";
    language: "Language", "Язык";
    version: "Spexus {}, your own server", "Spexus {}, ваш сервер";

    // When something is not possible
    not_possible: "This is not possible", "Так нельзя";
    refusal_number: "Refusal {}", "Отказ {}";
    back_home: "Back to the beginning", "К началу";

    // Kinds and fields
    epic: "Epic", "Эпик";
    user_story: "User story", "История";
    acceptance_criterion: "Acceptance criterion", "Критерий приёмки";
    requirement: "Requirement", "Требование";
    steering_document: "Steering document", "Руководящий документ";
    epics: "Epics", "Эпики";
    user_stories: "User stories", "Истории";
    acceptance_criteria: "Acceptance criteria", "Критерии приёмки";
    requirements: "Requirements", "Требования";
    steering_documents: "Steering documents", "Руководящие документы";
    status: "Status", "Статус";
    priority: "Priority", "Приоритет";
    requirement_type: "Type", "Тип";
    owner: "Owner", "Ответственный";
    revision: "Revision", "Ревизия";
    changed: "Changed", "Изменено";
    made: "Made", "Создано";
    nobody: "Nobody", "Никто";
    kind: "Kind", "Вид";
    critical: "Critical", "Критический";
    high: "High", "Высокий";
    medium: "Medium", "Средний";
    low: "Low", "Низкий";

    // Time
    today: "today {}", "сегодня {}";
    yesterday: "yesterday {}", "вчера {}";
    months: "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec", "янв фев мар апр мая июн июл авг сен окт ноя дек";

    // Home and projects
    projects: "Projects", "Проекты";
    no_project: "There is no project you are a member of.", "Нет проектов, в которых вы участвуете.";
}

/// A text with values in place of its `{}`, in order.
pub(crate) fn fill(text: &str, values: &[&dyn std::fmt::Display]) -> String {
    let mut parts = text.split("{}");
    let mut filled = parts.next().unwrap_or_default().to_owned();
    let mut values = values.iter();
    for part in parts {
        if let Some(value) = values.next() {
            filled.push_str(&value.to_string());
        }
        filled.push_str(part);
    }
    filled
}

#[cfg(test)]
mod tests {
    use super::*;

    //= specs/spexus-web.md#languages
    //= type=test
    //# Every text of a page MUST exist in every language, with the same places for values.
    #[test]
    fn every_text_has_its_translation_with_the_same_places_for_values() {
        for (name, english, russian) in TABLE {
            assert!(!english.trim().is_empty() && !russian.trim().is_empty(), "{name}");
            assert_eq!(
                english.matches("{}").count(),
                russian.matches("{}").count(),
                "{name}"
            );
            assert!(
                russian
                    .chars()
                    .any(|c| ('а'..='я').contains(&c.to_lowercase().next().unwrap_or(c))),
                "{name}: {russian:?} is not Russian"
            );
        }
    }

    #[test]
    fn values_go_to_their_places() {
        assert_eq!(fill("{} of {}", &[&1, &"two"]), "1 of two");
        assert_eq!(fill("plain", &[&1]), "plain");
    }
}
